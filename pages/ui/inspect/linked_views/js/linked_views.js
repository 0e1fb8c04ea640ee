// Linked views of one answer: numbers arrive once per score; selection and hover are handled here, and Python receives the
// selection and the marks after a pause. Texts come from models and users: they are only ever set as textContent, or
// drawn on a canvas.

import { latest } from "../../../shared/js/latest.js";
import { explain } from "../../../shared/js/words.js";
import { addPanels } from "./charts/along.js";
import { wire } from "./listening.js";
import { decoded } from "./numbers/arrays.js";
import { opensAt } from "./numbers/tokens.js";
import { adoptColouring, describe, paint, paintGrowing } from "./painting.js";
import { revealToken } from "./scrolling.js";
import { actions } from "./selection.js";
import { drawText } from "./text/answer.js";
import { drawLegend } from "./text/colouring.js";
import { drawDocument } from "./text/passages.js";
import { drawSentences } from "./text/sentences_table.js";

const NOTHING = { layer: null, head: null, token: null, passage: null, colour: null }; // is chosen while an answer is generated
const mounted = new WeakMap();

export default latest(drawViews);

function drawViews({ data, parentElement, setStateValue, setTriggerValue }) {
  const root = parentElement.querySelector(".views");
  if (!mounted.has(root)) mounted.set(root, build(root));
  const stage = mounted.get(root);
  stage.tell = setStateValue;
  stage.ask = setTriggerValue;
  take(stage, data);
}

function build(root) {
  const part = (name) => root.querySelector(`.${name}`);
  addPanels(part("beside-maps"));
  const stage = { root, part, data: null, view: null, buttons: [], drawn: {} };
  // Everything in one report: of two reports under way, the later one must not undo the earlier one.
  const report = () => stage.tell("view", { ...stage.chosen, wrong: stage.view.wrong, answer: stage.data.answer });
  [stage.report, stage.reportNow] = settle(report, 120);
  // Never disconnected: Streamlit calls the clean-up of an interrupted run while the views are still there.
  new ResizeObserver(() => stage.data && root.isConnected && paint(stage)).observe(root);
  stage.act = actions(stage);
  wire(stage);
  return stage;
}

// Two functions. The first calls `act` once, after a pause in its calls: arrow keys held down are one change to the
// server. The second ends the pause.
function settle(act, milliseconds) {
  let timer = 0;
  const now = () => {
    if (timer === 0) return;
    clearTimeout(timer);
    timer = 0;
    act();
  };
  const later = () => {
    clearTimeout(timer);
    timer = setTimeout(now, milliseconds);
  };
  return [later, now];
}

function take(stage, data) {
  const { part } = stage;
  part("tip").hidePopover();
  const another = stage.data?.answer !== data.answer;
  const adopted = another || stage.data.serial !== data.serial; // a selection from outside, as by Back
  if (adopted) {
    stage.chosen = { ...NOTHING, ...data.selection };
    const { mode, byToken = false, averaged = false, sort = { column: "rank", down: false } } = stage.view ?? {};
    stage.view = { wrong: data.wrong ?? [], mode, byToken, averaged, sort };
  }
  if (another || stage.view.folded === undefined) stage.view.folded = Boolean(data.folded);
  if (!data.folded) stage.view.folded = false;
  const held = stage.buttons.findIndex((button) => button.matches(":focus"));
  const grows = !another && data.live && data.tokens.length >= stage.buttons.length;
  stage.data = data.arrays ? decoded({ ...data }, stage.data) : { ...data, collapseAt: null };
  explain(part("source"), data.source ?? "", data.words);
  for (const name of ["headline", "detail", "note"]) explain(part(name), data[name] ?? "", data.words);
  part("to-learn").hidden = !data.isRecorded;
  const stands = data.live || data.empty || stage.data.collapseAt === null; // what is said is all there is
  if (stands || another || stage.stood) part("finding").open = stands;
  stage.stood = stands;
  stage.root.classList.toggle("live", data.live);
  stage.root.classList.toggle("reads", data.reads && !data.empty);
  if (data.live) part("offer").hidden = true;
  stage.root.classList.toggle("scored", Boolean(data.arrays));
  stage.root.classList.toggle("empty", Boolean(data.empty));
  const cuts = JSON.stringify(data.sentences.map(({ tokens }) => tokens));
  const isCutAnew = cuts !== stage.cuts;
  stage.cuts = cuts;
  if (another || data.live || isCutAnew) stage.buttons = drawText(part("strip"), stage.data, stage.act, grows ? stage.buttons : []);
  adoptColouring(stage);
  drawLegend(part("legend"), stage.data, stage.view, stage.act);
  drawSentences(part, stage.data, stage.view, stage.act);
  drawDocument(stage.root, part, stage.data);
  if (data.live) paintGrowing(stage);
  else {
    if (data.arrays) describe(stage, another);
    paint(stage);
  }
  if (held >= 0 && !stage.buttons[held]?.matches(":focus")) stage.buttons[held]?.focus({ preventScroll: true });
  const shownToken = data.live ? stage.buttons.length - 1 : stage.view.token ?? opensAt(stage.data);
  if (another || adopted || data.live) revealToken(stage, shownToken);
}
