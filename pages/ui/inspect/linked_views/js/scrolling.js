// A long answer scrolls: its text and the window of the tracks move together.

import { clamp } from "../../../shared/js/numbers.js";
import { columnsOf } from "./numbers/scales.js";
import { paintTracks } from "./painting.js";
import { reveal } from "./text/answer.js";
import { revealPassage } from "./text/passages.js";
import { revealRow } from "./text/sentences_table.js";

// Brings a token into the scrolled text and into the window of the tracks.
export function revealToken(stage, token) {
  if (token === null || token < 0) return;
  reveal(stage.part("strip"), stage.buttons[token]);
  revealRow(stage.part, stage.data.sentenceAt?.[token]);
  revealPassage(stage.part, stage.data, stage.view);
  stage.scrolledTo = stage.part("strip").scrollTop;
  const { data, view } = stage;
  const columns = data.arrays && !data.empty && columnsOf(stage.part("tracks"), data, view);
  if (!columns) return;
  const first = firstColumn(columns, token, token === view.token ? data.sentences[view.sentence]?.tokens : undefined);
  if (first === columns.first) return;
  view.first = first;
  paintTracks(stage);
}

// The first of the columns in which a token is in sight, and all of its sentence if it fits.
function firstColumn({ first, shown }, token, sentence) {
  if (sentence && sentence[1] - sentence[0] <= shown) return clamp(first, sentence[1] - shown, sentence[0]);
  return token >= first && token < first + shown ? first : Math.max(0, token - Math.floor(shown / 3));
}

// Moves the window of the tracks; the text follows.
export function moveWindow(stage, token) {
  if (!stage.data.arrays || stage.data.empty || stage.data.live) return;
  const columns = columnsOf(stage.part("tracks"), stage.data, stage.view);
  stage.view.first = clamp(Math.round(token - columns.shown / 2), 0, columns.all - columns.shown);
  const word = stage.buttons[Math.min(stage.view.first, stage.buttons.length - 1)].parentNode;
  stage.part("strip").scrollTop = word.offsetTop;
  stage.scrolledTo = stage.part("strip").scrollTop;
  paintTracks(stage);
}

// The window of the tracks follows the text that the user scrolls.
export function followScroll(stage) {
  const strip = stage.part("strip");
  if (!stage.data.arrays || stage.data.live || !strip.classList.contains("long")) return;
  if (Math.abs(strip.scrollTop - stage.scrolledTo) < 3) return; // our own doing
  stage.scrolledTo = strip.scrollTop;
  const { all, shown: many } = columnsOf(stage.part("tracks"), stage.data, stage.view);
  stage.view.first = Math.round((strip.scrollTop / Math.max(1, strip.scrollHeight - strip.clientHeight)) * (all - many));
  paintTracks(stage);
}
