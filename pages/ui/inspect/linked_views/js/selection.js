// What the user selects and marks, and the keys for it.

import { clamp } from "../../../shared/js/numbers.js";
import { readingOrder } from "./numbers/order.js";
import { firstStop, isHidden, meant } from "./numbers/tokens.js";
import { paint } from "./painting.js";
import { moveWindow, revealToken } from "./scrolling.js";
import { drawLegend } from "./text/colouring.js";
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
      select(stage, { colour: name });
      drawLegend(stage.part("legend"), stage.data, stage.view, stage.act);
      stage.part("legend").querySelector("select").focus();
    },
    hover: (token, button) => stage.data.live || tokenTip(stage.part("tip"), stage.data, stage.view, meant(stage.data, token), button.getBoundingClientRect()),
    leave: () => stage.part("tip").hidePopover(),
  };
}

const ARROWS = ["ArrowLeft", "ArrowRight"];

// Keys work wherever the focus is in the views: a click on a map or on blank space leaves it on their root.
export function pressed(stage, event) {
  if (stage.data.live || event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select")) return;
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
    if (stage.part("tip").matches(":popover-open")) stage.act.leave();
    else select(stage, { token: null });
  } else if (event.key === "w" || event.key === "W") {
    select(stage, { token: index });
    mark(stage);
  }
}

// The token that an arrow key leads to: in the text along its line, elsewhere along the columns.
function beside({ buttons, data }, seen, token, key, inText) {
  const columns = { order: seen, onwards: () => (data.direction === "rtl" ? "ArrowLeft" : "ArrowRight") };
  const { order, onwards } = inText ? readingOrder(buttons, data.tokens, seen) : columns;
  const step = key === onwards(token) ? 1 : -1;
  return order[clamp(order.indexOf(token) + step, 0, order.length - 1)];
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

export function mark(stage) {
  const { view } = stage;
  if (view.token === null) return;
  const wrong = view.wrong.includes(view.token) ? view.wrong.filter((token) => token !== view.token) : [...view.wrong, view.token];
  view.wrong = wrong.sort((first, second) => first - second);
  paint(stage);
  stage.report();
}
