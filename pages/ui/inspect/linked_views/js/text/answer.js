// The answer as running text, reachable by mouse and by arrow keys; weak words are underlined.

import { make } from "../../../../shared/js/dom.js";
import { on } from "../../../../shared/js/events.js";
import { shown } from "../../../../shared/js/numbers.js";
import { firstStop, isHidden } from "../numbers/tokens.js";
import { colouring, limitOf, nameOf } from "./colouring.js";

const LONGEST_WORD = 24; // characters: in scripts without spaces a whole line would be underlined

// While an answer is generated, the buttons that are there are kept, so that their colour changes smoothly.
export function drawText(strip, data, act, kept) {
  if (!kept.length) strip.replaceChildren();
  const added = data.tokens.slice(kept.length).map((token, place) => {
    const index = kept.length + place;
    const button = tokenButton(token, index);
    button.setAttribute("aria-disabled", String(data.live));
    on(button, "mouseenter focus", () => act.hover(index, button));
    on(button, "mouseleave blur", () => act.leave());
    on(button, "click", () => act.toggle(index));
    if (data.thinking?.[0] === index) strip.append(foldButton(data, act), " ");
    wordFor(strip, data, index).append(button);
    if (token.endsLine) strip.append(make("span", "line"));
    return button;
  });
  strip.setAttribute("aria-busy", String(data.live));
  strip.classList.toggle("long", data.long);
  return [...kept, ...added];
}

// The word that a token belongs to: the last one, or a new one after a space or a line break.
function wordFor(strip, { tokens, thinking }, index) {
  const last = strip.lastElementChild;
  const token = tokens[index];
  const goesOn = last?.className === "word" && !token.space && !token.quiet && !tokens[index - 1]?.quiet && !thinking?.includes(index);
  if (goesOn && last.textContent.length + token.label.length <= LONGEST_WORD) return last;
  if (token.space) strip.append(" ");
  const word = make("span", "word");
  strip.append(word);
  return word;
}

// The thinking part of an answer is folded into one control until it is opened.
function foldButton(data, act) {
  const [start, stop] = data.thinking;
  const button = make("button", "fold", `thinking, ${stop - start} token${stop - start === 1 ? "" : "s"}`);
  button.type = "button";
  on(button, "click", () => act.fold());
  return button;
}

// Hide the folded tokens and their line breaks.
export function paintFold(strip, buttons, data, view) {
  const fold = strip.querySelector(".fold");
  if (!fold) return;
  fold.setAttribute("aria-expanded", String(!view.folded));
  buttons.forEach((button, index) => {
    const hidden = isHidden(data, view, index);
    button.hidden = hidden;
    const next = button.parentNode.nextSibling;
    if (next?.className === "line" && button === button.parentNode.lastChild) next.hidden = hidden;
  });
}

// No button: in a line of text it would stand as one block, in which letters neither join nor run from right to left.
function tokenButton(token, index) {
  const button = make("span", token.quiet && !token.blank ? "token quiet" : "token");
  button.setAttribute("role", "button");
  button.dataset.index = index;
  const nodes = token.parts.flatMap(([part, mark]) => (mark ? drawMark(part) : [make("span", "", part)]));
  if (nodes.at(-1)?.tagName === "BR") nodes.pop(); // the line ends with the token
  button.append(...nodes);
  return button;
}

// Marks, with a line break after those of line breaks: what follows is another paragraph, with a direction of its own.
function drawMark(marks) {
  return marks.split(/(?<=↵)(?!↵)/).flatMap((part) => [make("span", "mark-part", part), ...(part.endsWith("↵") ? [make("br")] : [])]);
}

// Updates what depends on selection, colouring and marks; the buttons themselves are kept.
export function paintText(buttons, data, view) {
  const colours = colouring(data, view);
  const { values, level, places } = colours;
  const stop = firstStop(buttons, data, view);
  const levelOf = (index) => (data.tokens[index].quiet ? 0 : level(values[index]));
  const limit = limitOf(data, view, colours).level;
  const strongest = new Map();
  buttons.forEach((button, index) => {
    const collapse = index === data.collapseAt;
    const wrong = view.wrong.includes(index);
    const { shows } = data.tokens[index];
    button.classList.toggle("collapse", shows.includes(data.collapseAt));
    button.classList.toggle("wrong", shows.some((one) => view.wrong.includes(one)));
    button.classList.toggle("selected", shows.includes(view.token));
    button.tabIndex = index === stop ? 0 : -1;
    button.setAttribute("aria-pressed", String(index === view.token));
    const own = Math.max(0, ...shows.map(levelOf));
    button.style.setProperty("--level", own);
    strongest.set(button.parentNode, Math.max(strongest.get(button.parentNode) ?? 0, own));
    const said = [`token ${index}: ${data.tokens[index].label}`, `probability ${shown(data.probability[index], 2)}`, `${nameOf(data, view.colouring)} ${shown(values[index], places)}`];
    if (collapse) said.push(`largest ${data.measure.name}`);
    if (wrong) said.push("marked as incorrect");
    button.setAttribute("aria-label", said.join(", "));
  });
  for (const [word, most] of strongest) {
    word.style.setProperty("--level", most);
    word.classList.toggle("underlined", most > limit);
  }
}

// A long answer scrolls: show its largest collapse, or the last token while it is being generated.
export function reveal(strip, button) {
  if (!strip.classList.contains("long") || !button) return;
  const top = button.parentNode.offsetTop;
  const above = top < strip.scrollTop;
  const below = top + button.offsetHeight > strip.scrollTop + strip.clientHeight;
  if (above || below) strip.scrollTop = top - strip.clientHeight / 2;
}
