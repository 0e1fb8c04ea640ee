// The answer as running text, reachable by mouse and by arrow keys; weak words are underlined, and in a long answer
// sentences, of which the selected one is shown token by token.

import { make } from "../../../../shared/js/dom.js";
import { on } from "../../../../shared/js/events.js";
import { shown } from "../../../../shared/js/numbers.js";
import { isOpen, isReading, stepClass, strengths } from "../numbers/sentences.js";
import { firstStop, isHidden, remarks } from "../numbers/tokens.js";
import { colouring, isAttended, limitOf, nameOf } from "./colouring.js";

const LONGEST_WORD = 24; // characters: in scripts without spaces a whole line would be underlined

// While an answer is generated, the buttons that are there are kept, so that their colour changes smoothly.
export function drawText(strip, data, act, kept) {
  if (!kept.length) strip.replaceChildren();
  const added = data.tokens.slice(kept.length).map((token, place) => {
    const index = kept.length + place;
    const button = tokenButton(token, index);
    button.setAttribute("aria-disabled", String(data.live));
    if (data.thinking?.[0] === index) strip.append(foldButton(data, act), " ");
    const holder = holderOf(strip, data, index);
    wordFor(holder, data, index).append(button);
    if (token.endsLine) endLine(strip, holder, data, index);
    return button;
  });
  strip.setAttribute("aria-busy", String(data.live));
  strip.classList.toggle("long", data.long);
  return [...kept, ...added];
}

// What follows is another paragraph, with a direction of its own: a block would not make it one inside a sentence.
function endLine(strip, holder, { sentenceAt }, index) {
  const goesOn = holder !== strip && sentenceAt[index] === sentenceAt[index + 1];
  if (goesOn) holder.append(make("br"));
  else strip.append(make("span", "line"));
}

// The sentence that a token belongs to, or the strip where it is in none. White space at the end of a sentence is not
// underlined.
function holderOf(strip, { tokens, sentences, sentenceAt }, index) {
  const place = sentences?.length ? sentenceAt[index] : -1;
  const isSpaceAtEnd = place >= 0 && tokens[index].blank && tokens.slice(index, sentences[place].tokens[1]).every(({ blank }) => blank);
  if (place < 0 || isSpaceAtEnd) return strip;
  const last = strip.lastElementChild;
  if (last?.dataset.sentence === String(place)) return last;
  if (tokens[index].space) strip.append(" "); // it is not underlined
  const sentence = make("span", "sentence");
  sentence.dataset.sentence = place;
  strip.append(sentence);
  return sentence;
}

// The word that a token belongs to: the last one, or a new one after a space or a line break.
function wordFor(holder, { tokens, thinking }, index) {
  const last = holder.lastElementChild;
  const token = tokens[index];
  const goesOn = last?.className === "word" && !token.space && !token.quiet && !tokens[index - 1]?.quiet && !thinking?.includes(index);
  if (goesOn && last.textContent.length + token.label.length <= LONGEST_WORD) return last;
  if (token.space && (last || !holder.dataset.sentence)) holder.append(" ");
  const word = make("span", "word");
  holder.append(word);
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
    const next = button.parentNode.nextSibling ?? button.closest(".sentence")?.nextSibling;
    if (next?.className === "line" && button === button.parentNode.lastChild) next.hidden = hidden;
  });
  for (const sentence of strip.querySelectorAll(".sentence")) sentence.hidden = !sentence.querySelector(".token:not([hidden])");
}

// No button: in a line of text it would stand as one block, in which letters neither join nor run from right to left.
function tokenButton(token, index) {
  const button = make("span", token.quiet && !token.blank ? "token quiet" : "token");
  button.setAttribute("role", "button");
  button.dataset.index = index;
  const nodes = token.parts.flatMap(([part, mark]) => (mark ? drawMark(part) : [document.createTextNode(part)]));
  if (nodes.at(-1)?.tagName === "BR") nodes.pop(); // the line ends with the token
  button.append(...nodes);
  return button;
}

// Marks, with a line break after those of line breaks: what follows is another paragraph, with a direction of its own.
function drawMark(marks) {
  return marks.split(/(?<=↵)(?!↵)/).flatMap((part) => [make("span", "mark-part", part), ...(part.endsWith("↵") ? [make("br")] : [])]);
}

// Updates what depends on selection, colouring and marks; the buttons themselves are kept, and written to only where
// something is another: an answer can have thousands.
export function paintText(buttons, data, view) {
  const colours = colouring(data, view);
  const stop = firstStop(buttons, data, view);
  const limit = limitOf(data, view, colours).level;
  const strongest = new Map();
  buttons.forEach((button, index) => {
    const level = isAttended(view.colouring) || isOpen(data, view, index) ? Math.max(0, ...data.tokens[index].shows.map((one) => (data.tokens[one].quiet ? 0 : colours.level(colours.values[one])))) : 0;
    strongest.set(button.parentNode, Math.max(strongest.get(button.parentNode) ?? 0, level));
    const state = stateOf(data, view, colours, index, index === stop);
    const written = JSON.stringify([state, level]);
    if (button.written === written) return;
    button.written = written;
    paintToken(button, state, level);
  });
  for (const [word, most] of strongest) paintWord(word, most, most > limit);
}

// What is said and shown of a token besides its level; a token of a sentence that is not open is a part of its text.
function stateOf(data, view, { values, places }, index, isStop) {
  const { shows, label } = data.tokens[index];
  const classes = {
    collapse: shows.includes(data.collapseAt), wrong: shows.some((one) => view.wrong.includes(one)), selected: shows.includes(view.token),
  };
  if (!isOpen(data, view, index)) return { classes };
  const said = [`token ${index}: ${label}`, `probability ${shown(data.probability[index], 2)}`, `${nameOf(data, view.colouring)} ${shown(values[index], places)}`];
  said.push(...remarks(data, index));
  if (view.wrong.includes(index)) said.push("marked as incorrect");
  return { classes, role: "button", tabindex: isStop ? 0 : -1, "aria-pressed": index === view.token, "aria-label": said.join(", ") };
}

const OF_BUTTONS = ["role", "tabindex", "aria-pressed", "aria-label"];

function paintToken(button, state, level) {
  for (const [name, isSo] of Object.entries(state.classes)) button.classList.toggle(name, isSo);
  for (const name of OF_BUTTONS) setOrRemove(button, name, state[name]);
  button.style.setProperty("--level", level);
}

function paintWord(word, level, isUnderlined) {
  const written = `${level} ${isUnderlined}`;
  if (word.written === written) return;
  word.written = written;
  word.style.setProperty("--level", level);
  word.classList.toggle("underlined", isUnderlined);
}

function setOrRemove(node, name, value) {
  if (value === undefined) node.removeAttribute(name);
  else node.setAttribute(name, String(value));
}

// Sentences are underlined by their rank; one that is not open is a button that selects it.
export function paintSentenceTexts(strip, buttons, data, view) {
  const reading = isReading(data, view);
  strip.classList.toggle("by-sentence", reading);
  const stop = data.sentences?.length ? data.sentenceAt[firstStop(buttons, data, view)] : -1;
  const steps = strengths(data.sentences ?? []);
  for (const node of strip.querySelectorAll(".sentence")) {
    const place = Number(node.dataset.sentence);
    const { rank, uncertainty, reason } = data.sentences[place];
    const isClosed = reading && place !== view.sentence;
    node.className = `sentence ${stepClass(steps[place])}${reading && !isClosed ? " open" : ""}`;
    setOrRemove(node, "role", reading ? (isClosed ? "button" : "group") : undefined);
    setOrRemove(node, "tabindex", isClosed ? (place === stop ? 0 : -1) : undefined);
    const said = rank === null ? `no rank: ${reason}` : `rank ${rank} of ${data.sentences.length}, ${data.sentenceScore.name} ${uncertainty} nats`;
    setOrRemove(node, "aria-description", reading ? said : undefined);
  }
}

// What the tab key leads to in the text.
export const stopOf = (strip) => strip.querySelector("[tabindex='0']");

// A long answer scrolls: show the token of the headline, or the last token while it is being generated.
export function reveal(strip, button) {
  if (!strip.classList.contains("long") || !button) return;
  const top = button.parentNode.offsetTop;
  const above = top < strip.scrollTop;
  const below = top + button.offsetHeight > strip.scrollTop + strip.clientHeight;
  if (above || below) strip.scrollTop = top - strip.clientHeight / 2;
}
