// Whether the answer is correct, and what is known of answers like it.

import { make } from "../../../../shared/js/dom.js";
import { on } from "../../../../shared/js/events.js";
import { explain } from "../../../../shared/js/words.js";

const VERDICTS = { correct: "\u2713 Correct", incorrect: "\u2715 Incorrect", "partly correct": "Partly correct" };

export function drawJudged(part, { judged, uncertainty, words }, act, another) {
  const { standing } = judged;
  drawVerdict(part, judged.verdict, act);
  if (another) part("correct-input").value = judged.verdict.typed ? judged.verdict.correctAnswer : "";
  part("rank").textContent = standing.rank ?? "";
  part("against").textContent = standing.against ?? "";
  explain(part("nearest"), standing.nearest ?? standing.reason, words);
  part("make-reference").hidden = !judged.wanting;
  explain(part("reference"), standing.about ?? uncertainty, words);
  part("distribution").hidden = !standing.edges;
  explain(part("ours"), judged.ours ?? "", words);
  explain(part("how"), standing.how ?? "", words);
  explain(part("limit"), judged.underlineNote ?? "", words);
  explain(part("worth"), judged.worth ?? "", words);
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
