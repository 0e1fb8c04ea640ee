// How uncertain the answer is beside others of the same model.

import { clamp } from "../../../../shared/js/numbers.js";
import { prepare, write } from "./canvas.js";

// Correct below, incorrect above, and a line at this answer.
export function drawHistogram(canvas, { judged }, colours) {
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
