// Whether the answer is correct, how uncertain it is beside others, and what the model could have said at a token.

const VERDICTS = { correct: "\u2713 Correct", incorrect: "\u2715 Incorrect", "partly correct": "Partly correct" };
const MOST_CHIPS = 5;
const NO_FAVOURITE = 0.2; // of probability: below, no token is one

function drawJudged(part, { judged }) {
  const { verdict, correctAnswer, standing } = judged;
  part("verdict").hidden = !verdict;
  part("badge").textContent = VERDICTS[verdict] ?? "";
  part("badge").dataset.verdict = verdict ?? "";
  part("correct-answer").textContent = correctAnswer ? `Correct: ${correctAnswer}` : "";
  part("rank").textContent = standing.rank ?? "";
  part("nearest").textContent = standing.nearest ?? standing.reason;
  part("about").textContent = standing.about ?? "";
  part("distribution").hidden = !standing.edges;
  const [right, wrong] = ["correct", "incorrect"].map((kind) => make("span", kind, kind));
  part("kinds").replaceChildren(right, wrong);
}

// Correct below, incorrect above, and a line at this answer.
function drawHistogram(canvas, { judged }, colours) {
  const { standing, outcomes } = judged;
  if (!standing.edges) return;
  for (const [place, colour] of outcomes[colours.dark ? "dark" : "light"].entries()) {
    canvas.parentNode.querySelector(".kinds").children[place].style.setProperty("--swatch", colour);
  }
  const { context, width, height } = prepare(canvas, colours);
  const [right, wrong] = outcomes[colours.dark ? "dark" : "light"];
  const { correct, incorrect, edges } = standing;
  const [top, base] = [16, height - 1];
  const most = Math.max(1, ...correct.map((count, bin) => count + incorrect[bin]));
  const step = width / correct.length;
  const tall = (count) => (count / most) * (base - top);
  correct.forEach((count, bin) => {
    context.fillStyle = right;
    context.fillRect(bin * step, base - tall(count), step - 1, tall(count));
    context.fillStyle = wrong;
    context.globalAlpha = 0.55;
    context.fillRect(bin * step, base - tall(count + incorrect[bin]), step - 1, tall(incorrect[bin]));
    context.globalAlpha = 1;
  });
  const share = (standing.uncertainty - edges[0]) / (edges.at(-1) - edges[0] || 1);
  const x = clamp(share, 0, 1) * (width - 3) + 1.5;
  context.fillStyle = colours.warm;
  context.fillRect(x - 1.5, top - 4, 3, base - top + 4);
  canvas.setAttribute("aria-label", `Answers of this model by uncertainty, correct and incorrect. ${standing.rank}.`);
  write(context, "this answer", clamp(x, 34, width - 34), 6, { align: "center", colour: colours.text, bold: true });
}

// The alternatives of the selected token, or of the largest collapse; a click opens a branch there.
function drawWeak(holder, data, view, act) {
  const token = view.token ?? data.collapseAt;
  if (data.live || data.empty || token === null || token === undefined) return holder.replaceChildren();
  const { alternatives } = data.tokens[token];
  const place = data.weakPoints.indexOf(token);
  const where = place === 0 ? "Weakest point" : place > 0 ? `Weak point ${place + 1} of ${data.weakPoints.length}` : `Token ${token}`;
  const favourite = alternatives.length && alternatives[0][1] < NO_FAVOURITE ? ", no clear favourite" : "";
  const chips = alternatives.slice(0, MOST_CHIPS).map(([text, share, chosen]) => {
    const chip = make("button", chosen ? "chip chosen" : "chip");
    chip.type = "button";
    chip.disabled = chosen;
    chip.append(make("span", "said", text.length > 1 ? text.replace(/^·/, "") : text), make("span", "share", `${shown(100 * share, share < 0.01 ? 1 : 0)} %`));
    chip.title = chosen ? "the token in the answer" : "Continue from here with another token, in Compare";
    chip.onclick = () => act.branch(token);
    return chip;
  });
  holder.replaceChildren(make("span", "where", `${where}${favourite}; the model could have said`), ...chips, ...steps(data, place, act));
}

// From one weak point to the next.
function steps({ weakPoints }, place, act) {
  if (weakPoints.length < 2) return [];
  const next = (place + 1) % weakPoints.length;
  const button = make("button", "next-weak", `weak point ${next + 1} of ${weakPoints.length} ›`);
  button.type = "button";
  button.onclick = () => act.select({ token: weakPoints[next] });
  return [button];
}
