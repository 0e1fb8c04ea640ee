// What the views do on clicks, keys and movements of the pointer.

import { on } from "../../../shared/js/events.js";
import { clamp, shown } from "../../../shared/js/numbers.js";
import { ALONG } from "./charts/along.js";
import { pointIn } from "./charts/canvas.js";
import { cellAt } from "./charts/heat_map.js";
import { otherFacts, shortFacts } from "./numbers/facts.js";
import { nearest } from "./numbers/statistics.js";
import { paintTracks, writeNumber } from "./painting.js";
import { followScroll } from "./scrolling.js";
import { mark, pressed, select, selectSentence, tellOf } from "./selection.js";
import { lineTip } from "./text/tips.js";

export function wire(stage) {
  const { part } = stage;
  on(part("mark"), "click", () => mark(stage));
  on(part("branch"), "click", () => tellOf(stage, "branch", { token: stage.view.token }));
  on(part("show-score"), "click", () => select(stage, { layer: null, head: null }));
  on(part("show-best"), "click", () => select(stage, { layer: stage.data.separates.layer, head: stage.data.separates.head }));
  on(part("offer"), "click", () => tellOf(stage, "offer", {}));
  on(part("make-reference"), "click", () => tellOf(stage, "reference", {}));
  on(part("other-stop"), "click", () => tellOf(stage, "other_answer", { act: "stop" }));
  on(part("other-close"), "click", () => tellOf(stage, "other_answer", { act: "close" }));
  on(part("other-compare"), "click", () => tellOf(stage, "other_answer", { act: "compare" }));
  onText(stage, part("strip"));
  for (const button of part("reads-as").children) on(button, "click", () => stage.act.read(button.dataset.as));
  onDocument(stage, part("document-text"));
  for (const button of part("document-heads").children) on(button, "click", () => stage.act.heads(button.dataset.heads));
  onOverview(stage, part("overview"));
  on(part("whole"), "click", () => {
    select(stage, { token: null });
    stage.root.focus({ preventScroll: true }); // the button has hidden itself
  });
  on(stage.root, "keydown", (event) => pressed(stage, event));
  on(document, "pointerdown", () => stage.root.isConnected && stage.reportNow()); // on a link: Python hears of it in time
  onNumber(stage, "layer", (asked) => ({ layer: nearest(stage.data.layers, asked) }));
  onNumber(stage, "head", (asked) => ({ layer: stage.view.layer, head: clamp(Math.round(asked), 0, stage.data.numHeads - 1) }));
  onCells(stage, part("layer-head"), {
    find: (point) => peek(stage, cellAt(stage.drawn.layerHead, point, stage.data.layers.length, stage.data.numHeads)),
    say: ({ row, column }) => [`layer ${stage.data.layers[row]} · head ${column}`, `${stage.drawn.layerHead.name} ${shown(stage.drawn.layerHead.weight(row, column))}`],
    choose: ({ row, column }) => ({ layer: stage.data.layers[row], head: column }),
  });
  onCells(stage, part("token-head"), {
    find: (point) => cellAt(stage.drawn.tokenHead, point, stage.data.numHeads, stage.data.tokens.length),
    say: ({ row, column }) => [`head ${row} · token ${column} “${stage.data.tokens[column].label}”`, `${stage.data.weightName} ${shown(stage.drawn.tokenHead.weight(row, column))}`],
    choose: ({ row, column }) => ({ layer: stage.view.layer, head: row, token: column }),
  });
  onColumns(stage, "tracks");
  for (const { name } of ALONG) onColumns(stage, name);
}

// One listener for all tokens, of which an answer can have thousands.
function onText(stage, strip) {
  const tokenAt = (node) => Number(node?.closest?.(".token")?.dataset.index ?? -1);
  on(strip, "scroll", () => followScroll(stage));
  on(strip, "mouseover focusin", ({ target, relatedTarget }) => {
    const token = tokenAt(target);
    if (token >= 0 && token !== tokenAt(relatedTarget)) stage.act.hover(token);
  });
  on(strip, "mouseout focusout", ({ target, relatedTarget }) => tokenAt(target) === tokenAt(relatedTarget) || stage.act.leave());
  on(strip, "click", ({ target }) => {
    const token = tokenAt(target);
    const sentence = target.closest(".sentence[role=button]");
    if (sentence) selectSentence(stage, Number(sentence.dataset.sentence));
    else if (token >= 0) stage.act.toggle(token);
  });
}

function onDocument(stage, box) {
  const passageAt = ({ target }) => target.closest(".passage[role=button]");
  on(box, "mouseover focusin", (event) => passageAt(event) && stage.act.passageTip(passageAt(event)));
  on(box, "mouseout focusout", () => stage.act.leave());
  on(box, "click", (event) => passageAt(event) && stage.act.passage(Number(passageAt(event).dataset.passage)));
}

function onColumns(stage, chart) {
  onCells(stage, stage.part(chart), {
    find: ([x]) => {
      const { axis, first = 0, count = stage.data.tokens.length } = stage.drawn[chart];
      const token = axis.tokenAt(x);
      return token >= first && token < first + count ? { column: token } : null;
    },
    say: ({ column }) => [`token ${column} “${stage.data.tokens[column].label}”`, shortFacts(stage.data, stage.view, column) + otherFacts(stage.data, stage.view, column)],
    choose: ({ column }) => ({ token: stage.view.token === column ? null : column }),
  });
}

// A press or a drag over the overview moves the window.
function onOverview(stage, canvas) {
  const move = (event) => {
    if (event.buttons & 1) stage.act.first(stage.drawn.overview.axis.tokenAt(pointIn(canvas, event)[0]));
  };
  on(canvas, "pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    move(event);
  });
  on(canvas, "pointermove", move);
}

// An emptied field changes nothing: the selection stays and is written back into it. Until a number that is being typed
// is entered or left, no picture writes over it.
function onNumber(stage, name, change) {
  const field = stage.part(`${name}-input`);
  on(field, "input", () => (field.dataset.typed = ""));
  on(field, "change", () => {
    delete field.dataset.typed;
    select(stage, field.value === "" ? {} : change(Number(field.value)));
  });
  on(field, "blur", () => {
    delete field.dataset.typed;
    writeNumber(field, stage.view[name]);
  });
}

function onCells(stage, canvas, { find, say, choose }) {
  on(canvas, "mousemove", (event) => {
    const cell = stage.data.live ? null : find(pointIn(canvas, event));
    canvas.style.cursor = cell ? "pointer" : "default";
    if (!cell) return stage.act.leave();
    const near = { left: event.clientX + 12, top: event.clientY - 8, bottom: event.clientY + 14 };
    lineTip(stage.part("tip"), ...say(cell), near);
  });
  on(canvas, "mouseleave", () => {
    stage.act.leave();
    if (stage.view?.hovered) peek(stage, null);
  });
  on(canvas, "click", (event) => {
    const cell = stage.data.live ? null : find(pointIn(canvas, event));
    if (cell) select(stage, choose(cell));
  });
}

// The tracks show the head under the pointer, until it leaves the map or a click keeps it.
function peek(stage, cell) {
  const hovered = cell && { layer: stage.data.layers[cell.row], head: cell.column };
  if (JSON.stringify(hovered) !== JSON.stringify(stage.view.hovered ?? null)) {
    stage.view.hovered = hovered;
    paintTracks(stage);
  }
  return cell;
}
