// One unclear answer as text. A key or its button says whether it is correct; Python then sends the next one.

import { latest } from "../../shared/js/latest.js";
import { on } from "../../shared/js/events.js";

const TYPED = "textarea, select, [contenteditable]:not([contenteditable='false']), [role=textbox], [role=combobox], "
  + "input:not([type=button], [type=checkbox], [type=radio], [type=range], [type=submit])";

export default latest(drawReading);

function drawReading({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".reading");
  const isNew = !root.reading;
  const reading = (root.reading ??= { root });
  Object.assign(reading, { data, tell: setTriggerValue, isWaiting: false });
  if (isNew) listen(reading);
  draw(reading);
}

function listen(reading) {
  for (const button of reading.root.querySelectorAll("button")) on(button, "click", () => say(reading, button));
  // Before Streamlit sees the key: its own C asks whether to clear the cache.
  document.addEventListener("keydown", function onKey(event) {
    // Not left to a clean-up: Streamlit calls that of an overtaken run while the list is still there.
    if (!reading.root.isConnected) document.removeEventListener("keydown", onKey, true);
    else press(reading, event);
  }, true);
}

// A key that is held down says one verdict only; a text field and a key with a modifier say none.
function press(reading, event) {
  const target = event.composedPath()[0];
  const isTyped = target instanceof Element && target.matches(TYPED);
  if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing || isTyped) return;
  const button = buttonOf(reading, event.key.toLowerCase());
  if (!button) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  if (!event.repeat) say(reading, button);
}

function buttonOf({ root }, key) {
  return [...root.querySelectorAll("button")].find((button) => button.dataset.key === key);
}

// Nothing is said twice of an answer while its verdict is on its way.
function say(reading, button) {
  if (reading.isWaiting || button.disabled) return;
  reading.isWaiting = true;
  reading.root.setAttribute("aria-busy", "true");
  reading.tell("said", { number: reading.data.number, mark: button.dataset.mark });
}

function draw({ root, data }) {
  const part = (name) => root.querySelector(`.${name}`);
  const isDone = data.left === 0;
  root.setAttribute("aria-busy", "false");
  part("left").textContent = isDone ? "Every unclear answer has been read." : data.left === 1 ? "The last one" : `${data.left} to read`;
  for (const name of ["question", "references", "answer", "reason"]) part(name).textContent = data[name] || "\u2013";
  for (const name of ["marks", "undo"]) part(name).hidden = name === "marks" ? isDone : !data.last;
  root.querySelector("dl").hidden = isDone;
  for (const button of root.querySelectorAll("button")) button.disabled = button.closest("[hidden]") !== null;
  part("last").textContent = data.last;
}
