// How tokens are coloured, and which words are underlined.

import { make } from "../../../../shared/js/dom.js";
import { on } from "../../../../shared/js/events.js";
import { clamp, shown } from "../../../../shared/js/numbers.js";
import { explain } from "../../../../shared/js/words.js";
import { hasShares, headOfShares, sharesAlong, tintOf } from "../numbers/shares.js";
import { largest } from "../numbers/statistics.js";

const COLOURINGS = {
  collapse: {
    level: (value) => 1 - Math.exp(-Math.max(value, 0)), places: 2,
    swatches: [0.25, 0.75, 1.5, 3],
  },
  contribution: { level: (value, most) => Math.max(value, 0) / most, places: 3, swatches: null },
  entropy: { name: "Entropy, in nats", level: (value) => 1 - Math.exp(-Math.max(value, 0)), places: 2, swatches: [0.25, 0.75, 1.5, 3] },
  probability: { name: "Probability", level: (value) => 1 - value, places: 2, swatches: [0.75, 0.5, 0.25, 0] },
  document: { name: "Share of attention on the document", level: tintOf, places: 3, swatches: null },
  passage: { name: "Share of attention on the passage", level: tintOf, places: 3, swatches: null },
};
const ATTENDED = ["document", "passage"];
export const isAttended = (key) => ATTENDED.includes(key);

// How tokens are coloured: as was chosen, where the answer has that.
export function shownColour(data, chosen) {
  const usual = data.collapseAt === null ? "probability" : "collapse";
  return (isAttended(chosen) && !hasShares(data) ? null : chosen) ?? usual;
}

// The colourings that can be chosen: that of a passage, once one is.
function choices(data, view) {
  return Object.keys(COLOURINGS).filter((key) => !isAttended(key) || (hasShares(data) && (key === "document" || view.passage !== null)));
}

function valuesOf(data, view) {
  return isAttended(view.colouring) ? sharesAlong(data, view, view.passage) : data[view.colouring];
}

const UNDERLINED = 0.2; // of an answer's own tokens, where no reference says what is much
export const nameOf = (data, key) => (key === "collapse" ? data.measure.name : isAttended(key) ? `share of the ${key}` : key);
const titleOf = (data, key) => COLOURINGS[key].name ?? (key === "collapse" ? data.measure.title : data.contributionTitle);

export function colouring(data, view) {
  const kind = COLOURINGS[view.colouring];
  const values = valuesOf(data, view);
  const most = Math.max(1e-9, largest(isAttended(view.colouring) ? values.filter((_, token) => !data.tokens[token].quiet) : values));
  const scale = view.colouring === "collapse" ? data.measure.scale : 1;
  const level = (value) => (Number.isNaN(value) ? 0 : clamp(kind.level(value / scale, most), 0, 1));
  const swatches = kind.swatches?.map((value) => value * scale) ?? [0.25, 0.5, 1].map((share) => share * most);
  return { ...kind, name: titleOf(data, view.colouring), values, level, swatches };
}

// The level beyond which a word is underlined, and what it stands for: of the reference, else of this answer itself.
export function limitOf(data, view, { values, level }) {
  if (isAttended(view.colouring)) return { level: 1, words: `Tint: share of each token’s attention, ${headOfShares(data, view)}.` };
  const given = data.judged?.underline;
  if (view.colouring === "collapse" && given !== null && given !== undefined) {
    return { level: level(given), words: data.judged.underlineNote };
  }
  const levels = Array.from(values, level).filter((_, token) => Number.isFinite(values[token]) && !data.tokens[token].quiet).sort((a, b) => a - b);
  const at = levels.length ? levels[Math.min(levels.length - 1, Math.floor(levels.length * (1 - UNDERLINED)))] : 1;
  return { level: at, words: "Underlined: words with one of this answer’s strongest fifth of tokens." };
}

export function drawLegend(legend, data, view, act) {
  if (!data.arrays) return legend.replaceChildren();
  legend.classList.toggle("attended", isAttended(view.colouring));
  const colours = colouring(data, view);
  const { name, level, swatches, places } = colours;
  const choice = make("select");
  choice.setAttribute("aria-label", "Colour of the tokens");
  for (const key of choices(data, view)) {
    const option = make("option", "", titleOf(data, key));
    option.value = key;
    option.selected = key === view.colouring;
    choice.append(option);
  }
  choice.disabled = data.live;
  on(choice, "change", () => act.colour(choice.value));
  const drawn = swatches.map((value) => {
    const swatch = make("span", "swatch", shown(value, places).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, ""));
    swatch.style.setProperty("--level", level(value));
    return swatch;
  });
  const given = view.colouring === "collapse" ? data.judged?.underline : null; // in full in About this number
  const rule = given === null || given === undefined ? limitOf(data, view, colours).words : `Underlined: beyond ${shown(given, 2)}`;
  const undefinedHere = view.colouring in data.reasons ? `Undefined: ${data.reasons[view.colouring]}.` : rule;
  const scale = make("span", "scale");
  scale.append(...drawn);
  const key = make("span", "key");
  explain(key, undefinedHere, data.words);
  const wavy = view.wrong.length ? [make("span", "key", "Wavy: incorrect")] : [];
  legend.replaceChildren(choice, scale, key, ...wavy);
  legend.title = name;
}
