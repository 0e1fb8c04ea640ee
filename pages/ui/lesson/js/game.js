// The game: find the invented token, then see what RAUQ and plain probability would have chosen.

import { make } from "../../shared/js/dom.js";
import { on } from "../../shared/js/events.js";
import { found, named, PLAYERS, scores } from "./players.js";
import { drawScore } from "./score.js";

export function drawGame({ puzzles, guesses, revealed, onGuess, onNext, onRestart }) {
  if (guesses.length === puzzles.length && !revealed) return drawScore(puzzles, guesses, onRestart);
  const index = revealed ? guesses.length - 1 : guesses.length;
  const puzzle = puzzles[index];
  const game = make("div", "game");
  const prompt = make("div", "prompt", puzzle.prompt);
  prompt.id = "prompt";
  const below = revealed
    ? reveal(puzzle, guesses[index], index + 1 === puzzles.length ? "See the score" : "Next answer", onNext)
    : make("p", "hint", "Arrow keys and Enter, or click. Page Up goes back to the steps.");
  game.append(board(puzzles, guesses, index), prompt, answerRow(puzzle, revealed ? guesses[index] : null, onGuess), below);
  return game;
}

function board(puzzles, guesses, index) {
  const tally = scores(puzzles, guesses);
  const row = make("div", "board");
  row.append(make("span", "count", `Answer ${index + 1} of ${puzzles.length}`));
  for (const [player, name] of PLAYERS) {
    const item = make("span", `player ${player}`);
    item.append(make("span", "badge", name[0]), make("span", "", `${name} ${tally[player]}`));
    row.append(item);
  }
  return row;
}

function answerRow(puzzle, guess, onGuess) {
  const row = make("div", guess === null ? "answer" : "answer revealed");
  row.setAttribute("role", "group");
  row.setAttribute("aria-label", "The answer, token by token: which one was invented?");
  row.setAttribute("aria-describedby", "prompt");
  row.append(...puzzle.tokens.map((token, index) => {
    const cell = make("div", "cell");
    const button = make("button", "word", token);
    button.type = "button";
    if (guess === null) {
      button.tabIndex = index ? -1 : 0;
      on(button, "click", () => onGuess(index));
    } else {
      button.disabled = true;
      button.classList.toggle("invented", found(puzzle, index));
    }
    cell.append(button, marks(puzzle, guess, index));
    return cell;
  }));
  return row;
}

// Who chose this token: one letter each, as on the board.
function marks(puzzle, guess, index) {
  const row = make("div", "marks");
  if (guess === null) return row;
  const tokens = named(puzzle, guess);
  for (const [player, name] of PLAYERS) {
    if (tokens[player] === index) row.append(make("span", `badge ${player}`, name[0]));
  }
  return row;
}

function reveal(puzzle, guess, next, onNext) {
  const box = make("div", "reveal");
  const tokens = named(puzzle, guess);
  const verdicts = PLAYERS.map(([player, name]) => {
    const right = found(puzzle, tokens[player]);
    const line = make("span", right ? "verdict right" : "verdict");
    line.append(make("span", `badge ${player}`, name[0]), make("span", "", `${name} ${right ? "found it" : `chose “${puzzle.tokens[tokens[player]]}”`}`));
    return line;
  });
  const list = make("div", "verdicts");
  list.append(...verdicts);
  const button = make("button", "primary next-answer", next);
  button.type = "button";
  on(button, "click", onNext);
  box.append(make("p", "truth", `Invented: “${puzzle.parts[1].trim()}”. Correct: ${puzzle.reference}`), list, button);
  return box;
}

// Arrow keys move among the tokens; true if the key was used.
export function moveAmongTokens(stage, key) {
  const buttons = [...stage.querySelectorAll(".answer .word:not(:disabled)")];
  if (!buttons.length) return false;
  const at = buttons.indexOf(stage.getRootNode().activeElement);
  const to = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: buttons.length - 1 }[key];
  if (to === undefined) return false;
  const target = buttons[Math.max(0, Math.min(buttons.length - 1, to))];
  buttons.forEach((button) => { button.tabIndex = button === target ? 0 : -1; });
  target.focus();
  return true;
}
