// What the user selects and marks, and the keys for it.

import { clamp } from "../../../shared/js/numbers.js";
import { readingOrder } from "./numbers/order.js";
import { isOpen, isReading, standsFor } from "./numbers/sentences.js";
import { firstStop, isHidden, meant } from "./numbers/tokens.js";
import { paint } from "./painting.js";
import { moveWindow, revealToken } from "./scrolling.js";
import { stopOf } from "./text/answer.js";
import { drawLegend } from "./text/colouring.js";
import { besidePassage, passageTip } from "./text/passages.js";
import { besideRow, drawSentences } from "./text/sentences_table.js";
import { tokenTip } from "./text/tips.js";

// Something for Python to do with this answer; what has the focus may be gone afterwards, so the views take it.
export function tellOf(stage, name, event) {
  stage.root.focus({ preventScroll: true });
  stage.ask(name, { ...event, answer: stage.data.answer });
}

export function actions(stage) {
  return {
    select: (change) => select(stage, change),
    fold: () => {
      stage.view.folded = !stage.view.folded;
      if (stage.view.token !== null && isHidden(stage.data, stage.view, stage.view.token)) select(stage, { token: null });
      paint(stage);
    },
    toggle: (token) => {
      if (!stage.data.live) select(stage, { token: stage.view.token === meant(stage.data, token) ? null : meant(stage.data, token) });
    },
    goOn: (token, choice) => tellOf(stage, "go_on", { token, choice }),
    judge: (said) => tellOf(stage, "judge", said),
    first: (token) => moveWindow(stage, token),
    mode: (name) => {
      stage.view.mode = name;
      paint(stage);
    },
    colour: (name) => {
      if (name === "passage") return;
      select(stage, { colour: name, passage: null });
      drawLegend(stage.part("legend"), stage.data, stage.view, stage.act);
      stage.part("legend").querySelector("select").focus();
    },
    passage: (place) => showPassage(stage, stage.view.passage === place ? null : place),
    heads: (which) => {
      stage.view.averaged = which === "mean";
      paint(stage);
      drawLegend(stage.part("legend"), stage.data, stage.view, stage.act);
    },
    passageTip: (node) => passageTip(stage.part("tip"), stage.data, stage.view, Number(node.dataset.passage), node),
    sentence: (place) => select(stage, { token: standsFor(stage.data.sentences[place]) }),
    read: (as) => {
      stage.view.byToken = as === "tokens";
      paint(stage);
    },
    sort: (sort) => {
      stage.view.sort = sort;
      drawSentences(stage.part, stage.data, stage.view, stage.act);
      paint(stage);
      stage.part("sentences-table").querySelector(`[data-column=${sort.column}]`).focus();
    },
    hover: (token) => {
      if (stage.data.live || !isOpen(stage.data, stage.view, token)) return;
      tokenTip(stage.part("tip"), stage.data, stage.view, meant(stage.data, token), stage.buttons[token].getBoundingClientRect());
    },
    leave: () => stage.part("tip").hidePopover(),
  };
}

const ARROWS = ["ArrowLeft", "ArrowRight"];
const TO_SENTENCES = { ArrowUp: -1, ArrowDown: 1, Enter: 0, " ": 0 };

// Keys work wherever the focus is in the views: a click on a map or on blank space leaves it on their root.
export function pressed(stage, event) {
  if (stage.data.live || event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select")) return;
  if (pressedInTable(stage, event) || pressedInDocument(stage, event)) return;
  const sentence = sentenceOf(stage, event);
  if (sentence !== undefined) {
    event.preventDefault();
    return selectSentence(stage, sentence);
  }
  const own = stage.buttons.indexOf(event.target);
  const index = own >= 0 ? own : firstStop(stage.buttons, stage.data, stage.view);
  const seen = stage.buttons.flatMap((_, token) => (isHidden(stage.data, stage.view, token) ? [] : [token]));
  const target = ARROWS.includes(event.key) ? beside(stage, seen, index, event.key, own >= 0) : own >= 0 ? { Home: seen[0], End: seen.at(-1) }[event.key] : undefined;
  if (own >= 0 && [" ", "Enter"].includes(event.key)) {
    event.preventDefault();
    stage.act.toggle(own);
  } else if (target !== undefined) {
    event.preventDefault();
    select(stage, { token: target });
    if (own >= 0) stage.buttons[stage.view.token].focus(); // elsewhere the view that is looked at stays in sight
  } else if (event.key === "Escape") {
    if (stage.part("tip").matches(":popover-open")) return stage.act.leave();
    if (stage.view.passage !== null) return showPassage(stage, null);
    select(stage, { token: null });
    if (event.target.matches(".token:not([tabindex])")) stopOf(stage.part("strip")).focus({ preventScroll: true }); // its sentence is not open any more
  } else if (event.key === "w" || event.key === "W") {
    select(stage, { token: index });
    mark(stage);
  }
}

// The sentence that a key leads to from a sentence, or from a token of an open one; undefined where it leads to none.
function sentenceOf({ data, view }, { key, target }) {
  if (!isReading(data, view) || !(key in TO_SENTENCES)) return undefined;
  const isToken = target.matches(".token");
  if (isToken && !TO_SENTENCES[key]) return undefined; // the keys that press it
  const place = isToken ? data.sentenceAt[Number(target.dataset.index)] : Number(target.dataset.sentence ?? -1);
  return place < 0 ? undefined : clamp(place + TO_SENTENCES[key], 0, data.sentences.length - 1);
}

// Whether the key leads to a row of the table of sentences, which it then selects.
function pressedInTable(stage, event) {
  const row = event.target.matches("tr[data-place]") ? besideRow(event.target, event.key) : undefined;
  if (!row) return false;
  event.preventDefault();
  stage.act.sentence(Number(row.dataset.place));
  row.focus({ preventScroll: true });
  return true;
}

// Whether the key leads from a passage of the document to another, or presses it.
function pressedInDocument(stage, event) {
  if (!event.target.matches(".passage[role=button]")) return false;
  const target = besidePassage(stage.part, event.target, event.key);
  const isPressed = [" ", "Enter"].includes(event.key);
  if (!target && !isPressed) return false;
  event.preventDefault();
  if (isPressed) stage.act.passage(Number(event.target.dataset.passage));
  else target.focus();
  return true;
}

// The answer is coloured by the share of this passage; null: by what was chosen before.
function showPassage(stage, place) {
  select(stage, { passage: place });
  drawLegend(stage.part("legend"), stage.data, stage.view, stage.act);
}

// The token that an arrow key leads to: in the text along its line, elsewhere along the columns. From one sentence to
// the next it is as the text was written.
function beside({ buttons, data }, seen, token, key, inText) {
  const columns = { order: seen, onwards: () => (data.direction === "rtl" ? "ArrowLeft" : "ArrowRight") };
  const near = seen.filter((one) => data.sentenceAt[one] === data.sentenceAt[token]);
  const { order, onwards } = inText ? readingOrder(buttons, data.tokens, seen, near) : columns;
  const step = key === onwards(token) ? 1 : -1;
  const edge = seen.indexOf(step > 0 ? near.at(-1) : near[0]) + step;
  return order[order.indexOf(token) + step] ?? seen[clamp(edge, 0, seen.length - 1)];
}

// What the user chose stays, whatever the settings select; the rest follows the score.
export function select(stage, change) {
  if (stage.data.live) return;
  Object.assign(stage.chosen, change);
  stage.act.leave();
  paint(stage);
  if (change.token !== undefined) revealToken(stage, change.token);
  stage.report();
}

// The focus goes along, into the text; what it is on there is not explained before it is asked for.
export function selectSentence(stage, place) {
  stage.act.sentence(place);
  stage.buttons[stage.view.token].focus({ preventScroll: true });
  stage.act.leave();
}

export function mark(stage) {
  const { view } = stage;
  if (view.token === null) return;
  const wrong = view.wrong.includes(view.token) ? view.wrong.filter((token) => token !== view.token) : [...view.wrong, view.token];
  view.wrong = wrong.sort((first, second) => first - second);
  paint(stage);
  stage.report();
}
