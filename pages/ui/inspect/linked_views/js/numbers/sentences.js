// The sentences of a long answer: which token is in which, how they rank, and which are shown as tokens.

import { largest } from "./statistics.js";

const STEPS = 3; // of the underline, besides the thinnest

// The sentence of each token, -1 where it is in none, as in the thinking before an answer.
export function sentenceOfTokens({ sentences, tokens }) {
  const places = new Int32Array(tokens.length).fill(-1);
  sentences.forEach((sentence, place) => places.fill(place, ...sentence.tokens));
  return places;
}

// The token that stands for a sentence: its weakest, else its first.
export const standsFor = ({ weakest, tokens }) => weakest ?? tokens[0];

// How strongly each sentence is underlined, from 0 for the least uncertain of them to 3; undefined where it has no rank.
export function strengths(sentences) {
  const lowest = largest(sentences.map(({ rank }) => rank ?? 0));
  return sentences.map(({ rank }) => (rank === null || lowest < 2 ? undefined : Math.round((STEPS * (lowest - rank)) / (lowest - 1))));
}

export const stepClass = (step) => (step === undefined ? "" : `ranked step-${step}`);

// Whether the answer reads as text, in which only the selected sentence is shown token by token.
export function isReading(data, view) {
  return Boolean(data.sentences?.length) && !view.byToken;
}

export function isOpen(data, view, token) {
  const place = isReading(data, view) ? data.sentenceAt[token] : -1;
  return place < 0 || place === view.sentence;
}

const ORDERS = {
  place: (one, other) => one - other,
  rank: (one, other, { sentences }) => sentences[one].rank - sentences[other].rank || one - other,
  uncertainty: (one, other, { sentences }) => sentences[other].rank - sentences[one].rank || one - other,
  weakest: (one, other, { sentences, tokens }) => labelOf(sentences[one], tokens).localeCompare(labelOf(sentences[other], tokens)) || one - other,
};

// The places of the sentences in the order of a column; those without a rank are the last by rank, either way round.
export function sorted(data, { column, down }) {
  const places = [...data.sentences.keys()];
  const isLast = (place) => ["rank", "uncertainty"].includes(column) && data.sentences[place].rank === null;
  const known = places.filter((place) => !isLast(place)).sort((one, other) => ORDERS[column](one, other, data));
  return [...(down ? known.reverse() : known), ...places.filter(isLast)];
}

// The label of the weakest token, without the mark of its leading space; empty where there is none.
export function labelOf({ weakest }, tokens) {
  const label = weakest === null ? "" : tokens[weakest].label;
  return label.length > 1 ? label.replace(/^·/, "") : label;
}
