// The end of the game: every answer, who found the invented fact, and the conclusion.

import { make } from "../../shared/js/dom.js";
import { on } from "../../shared/js/events.js";
import { number } from "./pictures.js";
import { found, named, PLAYERS, scores } from "./players.js";

export function drawScore(puzzles, guesses, onRestart) {
  const box = make("div", "game");
  const again = make("button", "primary restart", "Play again");
  again.type = "button";
  on(again, "click", onRestart);
  box.append(scoreTable(puzzles, guesses), again);
  return box;
}

function scoreTable(puzzles, guesses) {
  const table = make("table", "scores");
  const tally = scores(puzzles, guesses);
  const head = make("tr", "");
  head.append(make("th", "", "Answer, invented part underlined"), ...PLAYERS.map(([player, name]) => make("th", player, name)));
  const rows = puzzles.map((puzzle, i) => {
    const row = make("tr", "");
    const answer = make("td", "");
    const [before, invention, after] = puzzle.parts;
    const space = invention.length - invention.trimStart().length; // only the word is underlined
    answer.append(before + invention.slice(0, space), make("em", "", invention.slice(space)), after);
    const tokens = named(puzzle, guesses[i]);
    row.append(answer, ...PLAYERS.map(([player]) => make("td", found(puzzle, tokens[player]) ? "hit" : "miss", found(puzzle, tokens[player]) ? "found" : "missed")));
    return row;
  });
  const total = make("tr", "total");
  total.append(make("th", "", `Found, of ${puzzles.length}`), ...PLAYERS.map(([player]) => make("td", player, tally[player])));
  table.append(head, ...rows, total);
  return table;
}

export function conclusion(puzzles, guesses) {
  const { you, rauq, probability } = scores(puzzles, guesses);
  const blind = puzzles.reduce((sum, puzzle) => sum + puzzle.invented.length / puzzle.tokens.length, 0);
  const better = rauq < probability ? "plain probability did better than RAUQ"
    : rauq > probability ? "RAUQ did better than plain probability" : "RAUQ did no better than plain probability";
  return `You found ${you} of ${puzzles.length}, RAUQ ${rauq}, plain probability ${probability}; random guessing finds ${number(blind, 1)} on average. ` +
    `Here ${better}; ten answers of one small model prove nothing about large ones.`;
}
