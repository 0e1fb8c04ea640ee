// The recurrence along the answer, computed here when the reader moves alpha.

import { make } from "../../shared/js/dom.js";
import { on } from "../../shared/js/events.js";
import { recurrence } from "../../shared/js/recurrence.js";
import { columns, number, picture, shape, words } from "./pictures.js";

export function drawRecurrence({ lesson }) {
  const { recurrence: given, wrong } = lesson;
  const { tokens } = wrong;
  const box = make("div", "hand");
  const formula = make("p", "formula");
  formula.setAttribute("role", "status");
  let [alpha, focus] = [given.alpha, wrong.collapse.indexOf(Math.max(...wrong.collapse))];

  const grid = columns(tokens, 230);
  const chart = make("div", "chart");
  const draw = () => {
    chart.replaceChildren(recurrencePicture(tokens, grid, given, alpha, focus));
    formula.textContent = written(tokens, given, alpha, focus);
  };
  const choices = tokens.map((token, index) => {
    const button = make("button", "choice", token);
    button.type = "button";
    on(button, "click mouseenter focus", () => {
      focus = index;
      choices.forEach((other, i) => other.setAttribute("aria-pressed", String(i === focus)));
      draw();
    });
    button.setAttribute("aria-pressed", String(index === focus));
    return button;
  });
  const group = make("div", "choices");
  group.setAttribute("role", "group");
  group.setAttribute("aria-label", "Token whose confidence is written out");
  group.style.gridTemplateColumns = grid.widths.map((width) => `${width}fr`).join(" ");
  group.append(...choices);
  const rule = make("p", "rule-line", "c = alpha × s + (1 − alpha) × a × c of the previous token");
  box.append(group, chart, rule, formula, alphaSlider(given.alpha, (value) => { alpha = value; draw(); }));
  draw();
  return box;
}

function alphaSlider(papers, onMove) {
  const row = make("div", "alpha");
  const [label, slider, back] = [make("label", "", ""), make("input", ""), make("button", "plain", `the paper's ${papers} for probability`)];
  Object.assign(slider, { type: "range", min: 0, max: 1, step: 0.05, value: papers, id: "alpha" });
  label.htmlFor = "alpha";
  const move = () => {
    label.textContent = `alpha ${number(Number(slider.value))}`;
    back.disabled = Number(slider.value) === papers;
    onMove(Number(slider.value));
  };
  on(slider, "input", move);
  on(slider, "pointerup", () => slider.blur()); // so that the next arrow key changes the step
  back.type = "button";
  on(back, "click", () => { slider.value = papers; move(); slider.focus(); });
  label.textContent = `alpha ${number(papers)}`;
  back.disabled = true;
  row.append(label, slider, back);
  return row;
}

function confidences({ signal, attention }, alpha) {
  return recurrence(signal, (gap) => attention[gap + 1], alpha);
}

// Those of a fully confident model: the signal is 1, and the attention is its mean at every token.
function surely({ signal, reference_attention: mean }, alpha) {
  return recurrence(signal.map(() => 1), () => mean, alpha);
}

function written(tokens, { signal, attention }, alpha, i) {
  const c = confidences({ signal, attention }, alpha);
  if (i === 0) return `c(${tokens[0]}) = s = ${number(c[0], 3)}`;
  return `c(${tokens[i]}) = ${number(alpha)} × ${number(signal[i], 3)} + ${number(1 - alpha)} × ${number(attention[i], 3)} × ${number(c[i - 1], 3)} = ${number(c[i], 3)}`;
}

function recurrencePicture(tokens, grid, given, alpha, focus) {
  const c = confidences(given, alpha);
  const sure = surely(given, alpha);
  const rows = [["signal s", given.signal, "signal"], ["attention a", given.attention, "attention"], ["confidence c", c, "uncertain"]];
  const height = 62;
  const sentence = `Confidence at alpha ${number(alpha)}: ${tokens.map((token, i) => `${token} ${number(c[i], 3)}`).join(", ")}.`;
  return picture(216, sentence,
    shape("rect", { x: grid.at(focus) - grid.widths[focus] / 2 + 3, y: 2, width: grid.widths[focus] - 6, height: 212, rx: 9, class: "focus" }),
    rows.flatMap(([name, values, kind], row) => {
      const bottom = 8 + row * 70 + height;
      return [
        words(210, bottom - height / 2, name, "label mid strong", "end"),
        ...values.flatMap((value, i) => (value === null ? [words(grid.at(i) - 4, bottom - height / 2, "–", "label mid")] : [
          shape("rect", { x: grid.at(i) - 40, y: bottom - height, width: 28, height, rx: 4, class: "track" }),
          shape("rect", { x: grid.at(i) - 40, y: bottom - height * value, width: 28, height: height * value, class: kind }),
          words(grid.at(i) - 4, bottom - height / 2, number(value), "strong label mid"),
        ])),
        ...(row === 2 ? sure.map((value, i) => shape("path", { d: `M${grid.at(i) - 46} ${bottom - height * value}h40`, class: "sure" })) : []),
      ];
    }));
}
