// Whether the answer is correct, how uncertain it is beside others, and what the model could have said at a token.

const VERDICTS = { correct: "\u2713 Correct", incorrect: "\u2715 Incorrect", "partly correct": "Partly correct" };
const MOST_CHIPS = 5;
const NO_FAVOURITE = 0.2; // of probability: below, no token is one

function drawJudged(part, { judged, uncertainty, words }, act, another) {
  const { standing } = judged;
  drawVerdict(part, judged.verdict, act);
  if (another) part("correct-input").value = judged.verdict.typed ? judged.verdict.correctAnswer : "";
  part("rank").textContent = standing.rank ?? "";
  explain(part("nearest"), standing.nearest ?? standing.reason, words);
  explain(part("reference"), standing.about ?? uncertainty, words);
  part("distribution").hidden = !standing.edges;
  explain(part("ours"), judged.ours ?? "", words);
  explain(part("worth"), judged.worth ?? "", words);
  part("number").hidden = !(standing.about || uncertainty || judged.worth);
  const [right, wrong] = ["correct", "incorrect"].map((kind) => make("span", kind, kind));
  part("kinds").replaceChildren(...(standing.edges ? [right, wrong] : []));
}

// The verdict with the correct answer, or a field for that answer, and what the user may say instead.
function drawVerdict(part, { verdict, correctAnswer, source, evidence, canChange, asks, typed }, act) {
  part("badge").textContent = VERDICTS[verdict] ?? "Correct or not?";
  part("badge").dataset.verdict = verdict ?? "";
  part("correct-answer").textContent = correctAnswer ? `Correct answer: ${correctAnswer}` : "";
  part("verdict-source").textContent = source ? `Verdict: ${source}.` : "";
  part("verdict-evidence").textContent = evidence ?? "";
  part("ask-correct").hidden = !(asks || typed);
  part("overrule").hidden = !canChange;
  for (const button of part("overrule").querySelectorAll("button")) {
    const chosen = button.dataset.verdict === verdict;
    button.setAttribute("aria-pressed", String(chosen));
    on(button, "click", () => act.judge({ verdict: chosen ? null : button.dataset.verdict }));
  }
  const judge = () => act.judge({ correct: part("correct-input").value });
  on(part("judge"), "click", judge);
  on(part("correct-input"), "keydown", (event) => event.key === "Enter" && !event.isComposing && judge());
}

// Correct below, incorrect above, and a line at this answer.
function drawHistogram(canvas, { judged }, colours) {
  const { standing, outcomes } = judged;
  if (!standing.edges) return;
  for (const [place, colour] of outcomes[colours.dark ? "dark" : "light"].entries()) {
    canvas.closest(".standing").querySelector(".kinds").children[place].style.setProperty("--swatch", colour);
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

// The alternatives of the selected token, or of the largest collapse; a click continues the answer with one of them.
function drawWeak(holder, data, view, act) {
  const token = view.token ?? opensAt(data);
  if (data.live || data.empty || token === null || token === undefined) return holder.replaceChildren();
  const { alternatives } = data.tokens[token];
  const place = data.weakPoints.indexOf(token);
  const where = place === 0 ? "Weakest point" : place > 0 ? `Weak point ${place + 1} of ${data.weakPoints.length}` : `Token ${token}`;
  const favourite = alternatives.length && alternatives[0][1] < NO_FAVOURITE ? ", no clear favourite: " : ", most probable tokens: ";
  const branch = data.other?.from === token ? data.other.choice : undefined;
  const chips = alternatives.slice(0, MOST_CHIPS).map(([text, share, chosen], choice) => {
    const chip = make("button", chosen ? "chip chosen" : choice === branch ? "chip tried" : "chip");
    chip.type = "button";
    chip.disabled = chosen || data.otherRuns;
    chip.append(make("span", "said", text.length > 1 ? text.replace(/^·/, "") : text), make("span", "share", `${shown(100 * share, share < 0.01 ? 1 : 0)} %`));
    chip.title = chosen ? "the token in the answer" : "Continue the answer from here with this token";
    on(chip, "click", () => act.goOn(token, choice));
    return chip;
  });
  const hint = chips.some((chip) => !chip.disabled) ? [make("span", "where how", "click to continue from there")] : [];
  const held = ["next-weak", "last-weak"].find((name) => holder.querySelector(`.${name}:focus`));
  holder.replaceChildren(...steps(data, place, act), make("span", "where", alternatives.length ? where + favourite : where), ...chips, ...hint);
  holder.querySelector(`.${held}`)?.focus({ preventScroll: true });
}

// The continuation with another token: its text, how uncertain it is, and what can be done with it.
function drawOther(part, data) {
  const { other } = data;
  part("other").hidden = !other;
  if (!other) return;
  part("other-text").replaceChildren(make("span", "other-before", (other.before ?? "").trimStart()), make("span", "", other.before ? other.text : other.text.trim()));
  part("other-facts").textContent = other.facts;
  part("other-stop").hidden = !data.otherRuns;
  part("other-compare").hidden = !other.kept;
  part("other-close").hidden = Boolean(data.otherRuns);
}

// From one weak point to the next.
function steps({ weakPoints }, place, act) {
  if (weakPoints.length < 2) return [];
  const at = Math.max(place, 0);
  const step = (by, text, label) => {
    const button = make("button", by > 0 ? "next-weak" : "last-weak", text);
    button.type = "button";
    button.setAttribute("aria-label", label);
    on(button, "click", () => act.select({ token: weakPoints[(at + by + weakPoints.length) % weakPoints.length] }));
    return button;
  };
  const count = make("span", "count", place >= 0 ? `${place + 1} of ${weakPoints.length}` : `${weakPoints.length} weak points`);
  const stepper = make("span", "stepper");
  stepper.append(step(-1, "‹", "Previous weak point"), count, step(1, "›", "Next weak point"));
  return [stepper];
}
