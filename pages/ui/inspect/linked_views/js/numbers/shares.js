// What the answer attends to in a document: for each token its shares of attention on the first token of the prompt, on
// the answer so far, on the rest of the prompt, and on each passage of the document.

import { clamp } from "../../../../shared/js/numbers.js";
import { largest } from "./statistics.js";

const FIRST_TOKEN = 0;
const ANSWER_SO_FAR = 1;
const REST = 2;
const FIXED = 3;

export const hasShares = ({ document: found }) => Boolean(found?.head);

// The shares of the head that the page shows, or the mean over the layers used by RAUQ.
const tableOf = ({ document: found }, { averaged }) => (averaged ? found.mean : found.head);

export const headOfShares = (data, view) => tableOf(data, view).name;

export function passageShares(data, view, token) {
  const count = data.document.passages.length;
  const start = token * (FIXED + count) + FIXED;
  return tableOf(data, view).values.subarray(start, start + count);
}

export const documentShare = (data, view, token) => passageShares(data, view, token).reduce((sum, share) => sum + share, 0);

// The share of one passage in each token, or of the whole document without one.
export function sharesAlong(data, view, passage = null) {
  return Float32Array.from(data.tokens, (_, token) => (passage === null ? documentShare(data, view, token) : passageShares(data, view, token)[passage]));
}

export function otherShares(data, view, token) {
  const start = token * (FIXED + data.document.passages.length);
  const { values } = tableOf(data, view);
  return { firstToken: values[start + FIRST_TOKEN], soFar: values[start + ANSWER_SO_FAR], rest: values[start + REST] };
}

// How strong the tint of a share is, from 0 to 1: by its square root, so that small shares can be told apart.
export const tintOf = (share, top) => Math.sqrt(clamp(share / top, 0, 1));

// The largest share of a passage in any token, to which tints are scaled: a token that attends less is tinted less.
export function topShare(data, view) {
  const table = tableOf(data, view);
  table.top ??= Math.max(1e-6, largest(data.tokens.map((_, token) => largest(passageShares(data, view, token)))));
  return table.top;
}
