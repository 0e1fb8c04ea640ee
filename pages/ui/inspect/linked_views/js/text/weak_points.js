// What the model could have said at a token, and how the answer goes on with that.

import { make } from "../../../../shared/js/dom.js";
import { on } from "../../../../shared/js/events.js";
import { shown } from "../../../../shared/js/numbers.js";
import { weakName } from "../numbers/tokens.js";

const MOST_CHIPS = 5;
const NO_FAVOURITE = 0.2; // of probability: below, no token is one

// The alternatives of the selected token, or of the one in the headline; a click continues the answer with one of them.
export function drawWeak(holder, data, view, act) {
  const token = view.token ?? data.collapseAt;
  if (data.live || data.empty || token === null || token === undefined) return holder.replaceChildren();
  const { alternatives } = data.tokens[token];
  const place = data.weakPoints.indexOf(token);
  const where = weakName(data, token);
  const what = `The most probable tokens here${alternatives.length && alternatives[0][1] < NO_FAVOURITE ? ", none of them a clear favourite" : ""}`;
  const branch = data.other?.from === token ? data.other.choice : undefined;
  const drawn = JSON.stringify([token, data.weakPoints, alternatives, branch, data.otherRuns]);
  if (holder.firstChild && holder.drawn === drawn) return; // a button that is replaced while it is pressed gets no click
  holder.drawn = drawn;
  const chips = alternatives.slice(0, MOST_CHIPS).map(([text, share, chosen], choice) => {
    const chip = make("button", chosen ? "chip chosen" : choice === branch ? "chip tried" : "chip");
    chip.type = "button";
    chip.disabled = chosen || data.otherRuns;
    chip.append(make("span", "said", text.length > 1 ? text.replace(/^·/, "") : text), make("span", "share", `${shown(100 * share, share < 0.01 ? 1 : 0)} %`));
    chip.title = chosen ? "the token in the answer" : "Continue the answer from here with this token";
    on(chip, "click", () => act.goOn(token, choice));
    return chip;
  });
  const held = ["next-weak", "last-weak"].find((name) => holder.querySelector(`.${name}:focus`));
  const [first, ...others] = chips;
  const offered = others.length ? [first, make("span", "or", "or"), ...others] : chips;
  holder.replaceChildren(...steps(data, place, act), make("span", "where", where), ...offered);
  holder.title = alternatives.length ? what : "";
  holder.querySelector(`.${held}`)?.focus({ preventScroll: true });
}

// From one weak point to the next.
function steps({ weakPoints }, place, act) {
  if (weakPoints.length < 2) return [];
  const at = Math.max(place, 0);
  const step = (by, text, label) => {
    const button = make("button", by > 0 ? "next-weak" : "last-weak", text);
    button.type = "button";
    button.setAttribute("aria-label", label);
    on(button, "click", () => act.select({ token: weakPoints[(at + by + weakPoints.length) % weakPoints.length] }));
    return button;
  };
  const count = make("span", "count", place >= 0 ? "" : `${weakPoints.length} weak points`);
  const stepper = make("span", "stepper");
  stepper.append(step(-1, "‹", "Previous weak point"), count, step(1, "›", "Next weak point"));
  return [stepper];
}

// The continuation with another token: its text, how uncertain it is, and what can be done with it.
export function drawOther(part, data) {
  const { other } = data;
  part("other").hidden = !other;
  if (!other) return;
  part("other-text").replaceChildren(make("span", "other-before", (other.before ?? "").trimStart()), make("span", "", other.before ? other.text : other.text.trim()));
  part("other-facts").textContent = other.facts;
  part("other-stop").hidden = !data.otherRuns;
  part("other-compare").hidden = !other.kept;
  part("other-close").hidden = Boolean(data.otherRuns);
}
