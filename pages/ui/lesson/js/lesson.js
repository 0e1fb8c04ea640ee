// One lesson: a title, a text, a picture; steps by key and button. Python receives only the step and the guesses.

import { make } from "../../shared/js/dom.js";
import { on } from "../../shared/js/events.js";
import { latest } from "../../shared/js/latest.js";
import { explain } from "../../shared/js/words.js";
import { drawAnswers, drawLimits } from "./answers.js";
import { drawGame, moveAmongTokens } from "./game.js";
import { drawDrop, drawHeads, drawPrevious } from "./heads.js";
import { drawLayers, drawPicking } from "./picking.js";
import { drawRecurrence } from "./recurrence.js";
import { conclusion } from "./score.js";
import { drawWhy } from "./why.js";

const PICTURES = {
  why: drawWhy, heads: drawHeads, previous: drawPrevious, drop: drawDrop, picking: drawPicking,
  recurrence: drawRecurrence, layers: drawLayers, answers: drawAnswers, limits: drawLimits,
};

const GAME = { title: "Which token was invented?", rules: "Ten answers of the same small model, chosen by a rule without looking at any score. Each states one incorrect fact: choose a token of it. RAUQ, with its default settings, chooses the largest collapse, and plain probability the least probable token." };
const MOVES = { ArrowRight: 1, PageDown: 1, " ": 1, ArrowLeft: -1, PageUp: -1 };

export default latest(drawLesson);

function drawLesson({ data, parentElement, setStateValue }) {
  const root = parentElement.querySelector(".lesson");
  const state = (root.state ??= { root, step: 0, revealed: false, fresh: true });
  state.data = data;
  state.tell = () => {
    state.turn += 1;
    setStateValue("place", { step: state.step, guesses: state.guesses, turn: state.turn });
  };
  if (state.fresh) open(state);
  else if (data.turn === state.turn && data.step !== state.step) show(state, data.step); // the browser's own Back
}

function open(state) {
  const { data } = state;
  Object.assign(state, { fresh: false, guesses: data.guesses, turn: data.turn });
  drawBar(state);
  document.addEventListener("keydown", function onKey(event) {
    // Not left to a clean-up: Streamlit calls that of an overtaken run while the lesson is still there.
    if (!state.root.isConnected) document.removeEventListener("keydown", onKey);
    else if (press(state, event)) event.preventDefault();
  });
  show(state, data.step);
}

const lastStep = (state) => state.data.steps.length; // the game; the steps count from 1, and 0 says why
const isGame = (state) => state.step === lastStep(state);

function go(state, step) {
  const target = Math.max(0, Math.min(lastStep(state), step));
  if (target === state.step) return;
  show(state, target);
  state.tell();
}

function show(state, step) {
  state.step = step;
  const { title } = isGame(state) ? GAME : state.data.steps[step];
  drawStage(state);
  state.root.querySelector(".title").textContent = title;
  state.root.querySelector(".spoken").textContent = announced(state, title);
  markBar(state);
  if (isGame(state)) focusGame(state);
}

function announced(state, title) {
  if (isGame(state)) return `The game: ${title}`;
  return state.step ? `Step ${state.step} of ${state.data.steps.length - 1}: ${title}` : `Why: ${title}`;
}

// Draws text and picture; focus that stood in the old picture goes to the title.
function drawStage(state) {
  const stage = state.root.querySelector(".stage");
  const lost = stage.contains(stage.getRootNode().activeElement);
  stage.replaceChildren(isGame(state) ? drawGame(gameOf(state)) : PICTURES[state.data.steps[state.step].picture](state.data));
  state.root.classList.toggle("playing", isGame(state));
  explain(state.root.querySelector(".text"), textOf(state), state.data.words);
  if (lost) state.root.querySelector(".title").focus({ preventScroll: true });
}

function textOf(state) {
  if (!isGame(state)) return state.data.steps[state.step].text;
  const { puzzles } = state.data;
  return state.guesses.length === puzzles.length && !state.revealed ? conclusion(puzzles, state.guesses) : GAME.rules;
}

function gameOf(state) {
  const change = (guesses, revealed) => {
    Object.assign(state, { guesses, revealed });
    drawStage(state);
    focusGame(state);
  };
  return {
    puzzles: state.data.puzzles, guesses: state.guesses, revealed: state.revealed,
    onGuess: (token) => { change([...state.guesses, token], true); state.tell(); say(state); },
    onNext: () => change(state.guesses, false),
    onRestart: () => { change([], false); state.tell(); },
  };
}

function focusGame(state) {
  state.root.querySelector(".next-answer, .answer .word:not(:disabled), .restart")?.focus({ preventScroll: true });
}

function say(state) {
  state.root.querySelector(".spoken").textContent = state.root.querySelector(".reveal").textContent;
}

function drawBar(state) {
  const bar = state.root.querySelector(".bar");
  const control = (className, text, act) => {
    const button = make("button", className, text);
    button.type = "button";
    on(button, "click", act);
    return button;
  };
  const names = [...state.data.steps.map(({ title }, i) => (i ? `Step ${i}: ${title}` : `Why: ${title}`)), `The game: ${GAME.title}`];
  const dots = make("div", "dots");
  dots.append(...names.map((name, i) => {
    const word = { 0: "Why", [lastStep(state)]: "Game" }[i];
    const dot = control("dot", word ?? String(i), () => go(state, i));
    dot.setAttribute("aria-label", name);
    dot.title = name;
    return dot;
  }));
  bar.replaceChildren(control("back", "Back", () => go(state, state.step - 1)), dots, control("next primary", "Next", () => go(state, state.step + 1)));
}

function markBar(state) {
  const bar = state.root.querySelector(".bar");
  bar.querySelectorAll(".dot").forEach((dot, i) => {
    if (i === state.step) dot.setAttribute("aria-current", "step");
    else dot.removeAttribute("aria-current");
  });
  const [back, next] = [bar.querySelector(".back"), bar.querySelector(".next")];
  back.disabled = state.step === 0;
  next.disabled = isGame(state);
  next.textContent = state.step === lastStep(state) - 1 ? "Play" : "Next";
}

// What a key does; true if it did something. A slider, a field and a focused button keep their own keys.
function press(state, event) {
  const target = event.composedPath()[0];
  if (event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey || isOwn(target, event.key)) return false;
  const stage = state.root.querySelector(".stage");
  if (isGame(state) && moveAmongTokens(stage, event.key)) return true;
  const to = { Home: 0, End: lastStep(state) }[event.key] ?? (event.key in MOVES ? state.step + MOVES[event.key] : null);
  if (to === null) return false;
  go(state, to);
  return true;
}

function isOwn(target, key) {
  if (!(target instanceof Element)) return false;
  if (target.matches("input[type=range]")) return key !== " ";
  return target.matches("input, textarea, select, [contenteditable='true']") || (key === " " && target.matches("button, a, summary"));
}
