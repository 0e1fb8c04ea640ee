// The first screen: a question, the answer with its incorrect parts marked, and what is correct.

import { make } from "../../shared/js/dom.js";

export function drawWhy({ lesson }) {
  const { prompt, parts, reference } = lesson.opening;
  const figure = make("div", "picture why");
  figure.setAttribute("role", "group");
  figure.setAttribute("aria-label", `An answer with its incorrect parts. Correct: ${reference}`);
  const answer = make("p", "said");
  answer.append(...parts.map(([text, incorrect]) => (incorrect ? markedPart(text) : document.createTextNode(text))));
  const legend = make("p", "correct");
  legend.append(make("mark", "", "incorrect"), make("span", "", `correct: ${reference}`));
  figure.append(make("p", "prompt", prompt), answer, legend);
  return figure;
}

// A space before the words stays unmarked.
function markedPart(text) {
  const found = new DocumentFragment();
  const words = text.trimStart();
  found.append(text.slice(0, text.length - words.length), make("mark", "", words));
  return found;
}
