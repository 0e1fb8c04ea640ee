// Tokens by their place in the answer: labels, folded ones, and those where the views begin.

export function tokenLabels(data) {
  return data.tokens.map(({ label }) => shortLabel(label));
}

export const shortLabel = (label) => (label.length > 11 ? `${label.slice(0, 10)}…` : label);

export function isHidden(data, view, index) {
  return Boolean(data.thinking) && view.folded && index >= data.thinking[0] && index < data.thinking[1];
}

// The token that the tab key leads to, and that keys start from.
export function firstStop(buttons, data, view) {
  return view.token ?? data.collapseAt ?? buttons.findIndex((_, index) => !isHidden(data, view, index));
}

// Where the views begin: at the token of the headline, and in an answer that scrolls at its first weak point.
export function opensAt({ long, collapseAt, weakPoints }) {
  return long && weakPoints?.length ? Math.min(...weakPoints) : collapseAt;
}

// A character of several tokens is drawn once: what is pointed at is the token of the headline where it is one of them.
export function meant({ tokens, collapseAt }, token) {
  return tokens[token].shows.includes(collapseAt) ? collapseAt : token;
}

// What is said of a token besides its numbers; nothing while the answer has no score yet.
export function remarks({ largestAt, ofQuestion = [], measure }, token) {
  return [token === largestAt && `largest ${measure.name}`, ofQuestion.includes(token) && OF_QUESTION].filter(Boolean);
}

const OF_QUESTION = "a word of the question";

// The name of a token among the weak points, of which the first is the weakest.
export function weakName({ weakPoints, ofQuestion }, token) {
  const place = weakPoints.indexOf(token);
  if (place < 0) return `Token ${token}`;
  const weakest = weakPoints.length > 1 ? `Weakest of ${weakPoints.length} points` : "Weakest point";
  const name = place ? `Weak point ${place + 1} of ${weakPoints.length}` : weakest;
  return ofQuestion.includes(token) ? `${name}, ${OF_QUESTION}` : name;
}
