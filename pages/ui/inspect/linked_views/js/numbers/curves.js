// What the charts show of a head along the answer.

import { recurrence } from "../../../../shared/js/recurrence.js";
import { mean } from "./statistics.js";

// What the tracks show of a head: its weights, its confidence, and the reference r. Those of the heads selected by RAUQ
// come with the score; for any other head the recurrence runs here, where the update is RAUQ's own.
export function headCurves(data, { layer, head }) {
  const picked = data.picked.findIndex((one) => one.layer === layer);
  const count = data.tokens.length;
  const given = picked >= 0 && (data.picked[picked].head === head || data.picked[picked].head < 0 || data.picked[picked].five || !data.attention);
  if (given) {
    const of = (values, width) => values.subarray(picked * width, (picked + 1) * width);
    return { attention: of(data.pickedAttention, data.gaps), confidence: of(data.confidence, count), sure: of(data.sure, count), given };
  }
  const row = (data.layers.indexOf(layer) * data.numHeads + head) * data.gaps;
  const attention = data.attention ? data.attention.subarray(row, row + data.gaps) : new Float32Array(data.gaps).fill(NaN);
  if (data.update !== "rauq") return { attention, confidence: null, sure: null, given };
  const usual = mean(attention);
  const sure = data.signal.map((value) => (Number.isFinite(value) ? data.sureSignal : NaN));
  return {
    attention,
    confidence: Float32Array.from(recurrence(data.signal, (gap) => attention[gap], data.alpha)),
    sure: Float32Array.from(recurrence(sure, () => usual, data.alpha)),
    given,
  };
}

// The mean weight of the shown head in correct answers of the reference; undefined where there is none.
export function usualWeight(data, { layer, head }) {
  const picked = data.picked.find((one) => one.layer === layer);
  const averaged = picked && (picked.head < 0 || picked.five);
  return averaged ? undefined : data.judged?.heads?.inCorrect[data.layers.indexOf(layer) * data.numHeads + head];
}

// The confidence of the continuation with another token, in the layer that is shown; null without one.
export function otherCurve({ other, tokens, scoreLayer }, view) {
  const row = other?.curve ? other.layers.indexOf(view.layer) : -1;
  if (row < 0 || (view.layer !== scoreLayer && other.heads[row] !== view.head)) return null; // of the score's layer a note says so
  const count = other.tokens.length;
  const values = other.curve.subarray(row * count, (row + 1) * count);
  const shownFrom = Math.max(0, other.from - 1); // the last token in common, where the curves part
  const length = Math.max(tokens.length, count);
  return { values: Float32Array.from({ length }, (_, token) => (token >= shownFrom && token < count ? values[token] : NaN)) };
}
