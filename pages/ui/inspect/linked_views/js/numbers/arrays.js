// The numbers of a score, as typed arrays: they arrive once per score.

import { sentenceOfTokens } from "./sentences.js";
import { roundedUp } from "./statistics.js";
import { tokenLabels } from "./tokens.js";

function bytesOf(base64) {
  const binary = atob(base64);
  const bytes = new Uint8Array(binary.length);
  for (let index = 0; index < binary.length; index += 1) bytes[index] = binary.charCodeAt(index);
  return bytes.buffer;
}

function decode(base64) {
  return new Float32Array(bytesOf(base64));
}

// Weights arrive in steps of 1 / 65534; 65535 means undefined.
function decodeWeights(base64) {
  const steps = new Uint16Array(bytesOf(base64));
  const weights = new Float32Array(steps.length); // filled in a loop: `from` takes a third of a second for millions
  for (let index = 0; index < steps.length; index += 1) weights[index] = steps[index] === 65535 ? NaN : steps[index] / 65534;
  return weights;
}

const decodedTable = (table) => ({ ...table, values: decode(table.shares) });

const ARRAYS = [
  "means", "probability", "entropy", "signal", "collapse", "contribution", "shares", "confidence", "sure", "pickedAttention",
  "headNumbers",
];

// The same answer scored again has the same weights: they are kept. One that is still being generated comes without.
export function decoded(data, before) {
  for (const name of ARRAYS) data[name] = decode(data.arrays[name]);
  const same = before?.weights === data.weights;
  if (data.weights) data.attention = same ? before.attention : decodeWeights(data.weights);
  data.topMean = roundedUp(data.picked.flatMap(({ row }) => [...data.means.subarray(row * data.numHeads, (row + 1) * data.numHeads)]));
  if (data.other?.confidence) data.other = { ...data.other, curve: decode(data.other.confidence) };
  if (data.document?.head) data.document = { ...data.document, head: decodedTable(data.document.head), mean: decodedTable(data.document.mean) };
  data.labels = tokenLabels(data);
  data.sentenceAt = sentenceOfTokens(data);
  return data;
}
