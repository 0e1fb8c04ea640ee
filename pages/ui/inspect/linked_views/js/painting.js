// What is drawn when: some of it once per score, some with every selection, some with every hover.

import { on } from "../../../shared/js/events.js";
import { shown } from "../../../shared/js/numbers.js";
import { explain } from "../../../shared/js/words.js";
import { ALONG } from "./charts/along.js";
import { drawLayerHead, drawTokenHead } from "./charts/heat_map.js";
import { drawHistogram } from "./charts/histogram.js";
import { palette } from "./charts/palette.js";
import { drawOverview, drawTracks } from "./charts/tracks.js";
import { aboutSelected, shortFacts, shownHead, titled } from "./numbers/facts.js";
import { columnsOf } from "./numbers/scales.js";
import { isHidden } from "./numbers/tokens.js";
import { hasShares } from "./numbers/shares.js";
import { paintFold, paintSentenceTexts, paintText } from "./text/answer.js";
import { isAttended, shownColour } from "./text/colouring.js";
import { drawHeads, paintHeads } from "./text/heads_table.js";
import { paintDocument } from "./text/passages.js";
import { paintSentences } from "./text/sentences_table.js";
import { drawJudged } from "./text/verdict.js";
import { drawOther, drawWeak } from "./text/weak_points.js";

const BETWEEN_PICTURES = 200; // milliseconds

// What depends on the score and not on the selection.
export function describe({ part, data, act }, another) {
  for (const [name, allowed] of [["layer-input", data.layers], ["head-input", [0, data.numHeads - 1]]]) {
    if (another) delete part(name).dataset.typed;
    part(name).min = Math.min(...allowed);
    part(name).max = Math.max(...allowed);
  }
  for (const { name, caption } of ALONG) explain(part(`${name}-caption`), caption(data), data.words);
  explain(part("token-caption"), data.captions.token, data.words);
  for (const node of part("panels").querySelectorAll("[data-explain]")) explain(node, node.textContent, data.words);
  part("modes").querySelector("[data-mode=attention]").textContent = data.weightName;
  for (const button of part("modes").children) on(button, "click", () => act.mode(button.dataset.mode));
  part("modes").querySelector("[data-mode=auc]").hidden = !data.judged?.heads;
  explain(part("auc-caption"), data.judged?.heads ? ` ${aboutSelected(data)}` : "", data.words);
  part("offer").hidden = !data.offer;
  part("offer").textContent = data.offer?.label ?? "";
  explain(part("heads-title"), data.scoreLayer === null ? "Selected heads" : `Selected heads; the score comes from layer ${data.scoreLayer}`, data.words);
  for (const panel of stageMaps(part)) panel.hidden = !data.gaps && !data.live;
  drawHeads(part("heads"), data, act);
  if (data.judged) drawJudged(part, data, act, another);
  drawOther(part, data);
}

function stageMaps(part) {
  return part("panels").querySelectorAll(".maps");
}

// A passage that is chosen colours the tokens, where its shares are known.
export function adoptColouring({ chosen, view, data }) {
  view.passage = hasShares(data) ? chosen.passage : null;
  view.colouring = view.passage === null ? shownColour(data, chosen.colour) : "passage";
}

function current(stage) {
  const { chosen, view, data } = stage;
  view.layer = chosen.layer ?? data.front?.layer ?? data.picked[0].layer;
  const picked = data.picked.find(({ layer }) => layer === view.layer)?.head ?? 0;
  view.head = chosen.head ?? Math.max(picked, 0);
  view.token = chosen.token;
  view.sentence = view.token === null ? -1 : data.sentenceAt[view.token];
  view.mode = view.mode === "auc" && !data.judged?.heads ? "attention" : (view.mode ?? "attention");
  adoptColouring(stage);
  const asked = data.scoreLayer ?? view.layer;
  data.frontRow = Math.max(0, data.picked.findIndex(({ layer }) => layer === asked));
}

// The words of an answer that grows have their colours at once. Its pictures take ten times as long, and are drawn five
// times a second.
export function paintGrowing(stage) {
  const { part, data, view, buttons } = stage;
  if (!data.arrays) return paintBare(stage);
  current(stage);
  paintFold(part("strip"), buttons, data, view);
  paintText(buttons, data, view);
  stage.timer ??= setTimeout(() => {
    if (!stage.root.isConnected) return;
    if (stage.data.arrays) describe(stage, false);
    paint(stage);
  }, Math.max(0, (stage.due ?? 0) - performance.now()));
}

export function paint(stage) {
  const { part, data, view, drawn } = stage;
  clearTimeout(stage.timer);
  stage.timer = null;
  stage.due = performance.now() + BETWEEN_PICTURES;
  if (!data.arrays) return paintBare(stage);
  current(stage);
  if (view.token !== null && isHidden(data, view, view.token)) view.folded = false; // a chart or a link selected it
  const colours = palette(stage.root, data.scales);
  paintFold(part("strip"), stage.buttons, data, view);
  paintText(stage.buttons, data, view);
  paintSentenceTexts(part("strip"), stage.buttons, data, view);
  part("strip").classList.toggle("attended", isAttended(view.colouring));
  paintSentences(part, data, view);
  paintDocument(part, data, view);
  drawWeak(part("weak"), data, view, stage.act);
  if (data.judged) drawHistogram(part("histogram"), data, colours);
  paintTokenBar(stage);
  part("overview").hidden ||= Boolean(data.empty);
  if (data.empty) return; // nothing was scored, so the panels are hidden
  writeNumber(part("layer-input"), view.layer);
  writeNumber(part("head-input"), view.head);
  paintMapWords(part, data, view);
  explain(part("token-title"), `Heads of layer ${view.layer}, token by token`, data.words);
  paintHeads(part("heads"), data, view);
  if (data.gaps) {
    drawn.layerHead = drawLayerHead(part("layer-head"), data, view, colours);
    if (data.attention) drawn.tokenHead = drawTokenHead(part("token-head"), data, view, colours);
  }
  for (const { name, draw, spoken } of ALONG) {
    drawn[name] = draw(part(name), data, view, colours);
    nameCanvas(part(name), spoken(data));
  }
  paintTracks(stage, colours);
  nameCanvas(part("layer-head"), `Previous-token ${data.weightName}, layer by head, ${part("map-sub").textContent}. Shown: layer ${view.layer}, head ${view.head}.`);
  nameCanvas(part("token-head"), `${part("token-title").textContent}. Shown: head ${view.head}.`);
}

// Into a field, unless somebody is typing there.
export function writeNumber(field, number) {
  if (field.dataset.typed === undefined || !field.matches(":focus")) field.value = number;
}

// Which layer and head the tracks show, why, and the way to the layer that gives the score.
function paintShownHead(part, data, { layer, head }) {
  const picked = data.picked.find((one) => one.layer === layer);
  const isPicked = picked && (picked.head === head || picked.head < 0 || picked.five);
  const isScore = isPicked && data.scoreLayer === layer;
  const isBest = data.separates?.layer === layer && data.separates.head === head;
  const separates = `separates answers best of the selected heads (ROC-AUC ${shown(data.separates?.auc, 2)})`;
  const what = `Layer ${layer}, ${shownHead(data, { layer, head })}${isBest ? `, which ${separates}` : ""}`;
  const single = data.measure.name === "surprisal" ? ", which the score does not use" : isScore ? `${isBest ? " and" : ""} gives the score${data.live ? " so far" : ""}` : data.scoreLayer === null ? ". No single layer gives the score" : ": not the one that gives the score";
  explain(part("shown-what"), `${what}${single}`, data.words);
  part("show-score").hidden = data.live || isScore || (data.front.layer === layer && data.front.head === head);
  part("show-score").textContent = `Show layer ${data.front.layer}, ${shownHead(data, data.front)}${data.scoreLayer === null ? "" : ", which gives the score"}`;
  part("show-best").hidden = data.live || !data.separates || isBest;
  part("show-best").textContent = data.separates ? `Show layer ${data.separates.layer}, head ${data.separates.head}` : "";
  nameCanvas(part("show-best"), `${part("show-best").textContent}, which ${separates}`);
  part("best-why").hidden = part("show-best").hidden;
  explain(part("best-why"), `, which ${separates}`, data.words);
}

// The tracks show the head under the pointer, if there is one, else the selected one.
export function paintTracks(stage, colours = palette(stage.root, stage.data.scales)) {
  const { part, data, view, drawn } = stage;
  const head = view.hovered ? { ...view, ...view.hovered } : view;
  const columns = columnsOf(part("tracks"), data, view);
  const scrolls = columns.shown < columns.all && !data.live;
  if (part("overview").hidden === scrolls) part("overview").hidden = !scrolls;
  drawn.tracks = drawTracks(part("tracks"), data, head, colours);
  if (scrolls) {
    drawn.overview = drawOverview(part("overview"), data, view, columns, colours);
    const last = columns.first + columns.shown - 1;
    nameCanvas(part("overview"), `The whole answer. In the tracks: tokens ${columns.first} to ${last} of ${columns.all}.`);
  }
  const token = view.token ?? data.collapseAt;
  const { attention, confidence } = drawn.tracks.curves;
  const here = token === null ? "" : ` At token ${token}: ${data.weightName} ${shown(token ? attention[token - 1] : NaN)}, confidence ${shown(confidence?.[token])}.`;
  paintShownHead(part, data, head);
  const first = data.measure.name === "surprisal" ? "surprisal" : "signal";
  nameCanvas(part("tracks"), `${titled(data.weightName)} to the previous token, ${first} and confidence by token: layer ${head.layer}, head ${head.head}.${here}`);
}

const nameCanvas = (canvas, text) => canvas.setAttribute("aria-label", text);

function paintMapWords(part, data, view) {
  const heads = view.mode === "auc" ? data.judged.heads : null;
  const where = view.token > 0 ? `at token ${view.token} only` : "mean over the answer";
  explain(part("map-sub"), heads ? heads.sub : where, data.words);
  explain(part("map-caption"), heads ? heads.caption : data.captions.map, data.words);
  for (const button of part("modes").children) button.setAttribute("aria-pressed", String(button.dataset.mode === view.mode));
}

function paintBare({ buttons, part, data, view }) {
  paintDocument(part, data, view);
  buttons.forEach((button) => button.setAttribute("aria-label", button.firstChild.textContent));
  part("token-facts").textContent = "";
  part("weak").replaceChildren();
  part("other").hidden = true;
  part("overview").hidden = true;
  for (const button of ["mark", "branch", "whole"]) part(button).hidden = true;
}

function paintTokenBar({ part, data, view }) {
  const selected = view.token !== null;
  const token = view.token ?? data.collapseAt;
  const facts = data.live ? data.hint : !selected ? "" : `“${data.tokens[token].label}”: ${shortFacts(data, view, token)}`;
  if (part("token-facts").textContent !== facts) part("token-facts").textContent = facts;
  for (const button of ["mark", "branch", "whole"]) part(button).hidden = !selected;
  const marked = view.wrong.includes(view.token);
  part("mark").setAttribute("aria-pressed", String(marked));
  part("mark").textContent = marked ? "✗ Marked as incorrect" : "Mark as incorrect";
}
