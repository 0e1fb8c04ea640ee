// A drawer closes by Escape and by a click outside, as a popover does, and its button has the focus again.

import { latest } from "../../shared/js/latest.js";

// What is in front of a drawer, which Escape closes first.
const IN_FRONT = "[data-testid=stPopoverBody], [role=listbox], [role=dialog]";

const openerOf = (name) => /** @type {HTMLElement} */ (document.querySelector(`.st-key-drawer_${name} button`));

export default latest(drawClosing);

function drawClosing({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".closing");
  const isNew = !root.closing;
  const closing = (root.closing ??= { root });
  Object.assign(closing, { names: data.names, open: data.open, tell: setTriggerValue });
  mark(closing);
  if (!isNew) return;
  for (const event of ["keydown", "pointerdown", "click"]) listen(closing, event);
  follow(closing);
}

// The buttons say whether their drawer is open.
function mark({ names, open }) {
  for (const name of names) openerOf(name)?.setAttribute("aria-expanded", String(name === open));
}

// A run of the page may draw the buttons again, of which this component does not hear.
function follow(closing) {
  const drawn = new MutationObserver(() => (closing.root.isConnected ? mark(closing) : drawn.disconnect()));
  drawn.observe(document.querySelector("[data-testid=stApp]"), { childList: true, subtree: true });
}

// At the document, before anything else hears of the event. Not left to a clean-up, which Streamlit may call too early.
function listen(closing, event) {
  document.addEventListener(event, function heard(given) {
    if (!closing.root.isConnected) document.removeEventListener(event, heard, true);
    else if (closing.open) HEARD[event](closing, given);
  }, true);
}

const HEARD = {
  keydown(closing, { key, isComposing }) {
    if (key === "Escape" && !isComposing && !document.querySelector(IN_FRONT)) close(closing);
  },
  pointerdown(closing, { target }) {
    const inside = [document.querySelector(".st-key-open_drawer"), openerOf(closing.open)].some((part) => part?.contains(target));
    // Lists of choices and tooltips are outside of the app. A link leads away from the page, which closes the drawer too.
    if (!inside && !target.closest("a[href]") && document.querySelector("[data-testid=stApp]").contains(target)) tell(closing);
  },
  click(closing, { target }) {
    if (target.closest(".st-key-close_drawer button")) openerOf(closing.open)?.focus();
  },
};

function close(closing) {
  openerOf(closing.open)?.focus();
  tell(closing);
}

// Once: until Python has taken the drawer away, it counts as closed.
function tell(closing) {
  closing.tell("closed", closing.open);
  closing.open = "";
}
