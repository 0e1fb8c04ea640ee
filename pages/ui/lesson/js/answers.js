// Collapse under the tokens of answers, and their scores on one line.

import { columns, number, picture, shape, tokenRow, WIDTH, words } from "./pictures.js";

export function drawAnswers({ lesson }) {
  const { right, wrong } = lesson;
  const sentence = `Collapse token by token. Correct answer, score ${number(right.uncertainty)}: ${spelt(right)}. Incorrect answer, score ${number(wrong.uncertainty)}: ${spelt(wrong)}.`;
  const tallest = Math.max(...right.collapse, ...wrong.collapse);
  return picture(390, sentence, collapseRow(right, 0, tallest), collapseRow(wrong, 200, tallest));
}

function spelt(answer) {
  return answer.tokens.map((token, i) => `${token} ${number(answer.collapse[i])}`).join(", ");
}

function collapseRow(answer, top, tallest, { room = 104, left = 160 } = {}) {
  const grid = columns(answer.tokens, left);
  const base = top + room + 34;
  const height = (value) => Math.max(0, value) * (room / tallest);
  return [
    words(0, top + 42, answer.correct ? "correct" : "incorrect", "label strong"),
    words(0, top + 86, number(answer.uncertainty), "huge"),
    shape("path", { d: `M${left} ${base}H${WIDTH}`, class: "rule" }),
    ...answer.collapse.flatMap((value, i) => [
      shape("rect", { x: grid.at(i) - 24, y: base - height(value), width: 48, height: height(value), class: "uncertain" }),
      words(grid.at(i), base - height(value) - 12, number(value, 1), "tick", "middle"),
    ]),
    ...tokenRow(answer.tokens, grid, base + 6, { invented: answer.invented, kind: "token small", height: 40 }),
  ];
}

export function drawLimits({ lesson }) {
  const { confident, right, wrong } = lesson;
  const all = [confident, right, wrong];
  const sentence = `Scores: ${all.map(withScore).join(", ")}.`;
  const [left, far, line, margin] = [40, WIDTH - 40, 290, 0.03];
  const scores = all.map(({ uncertainty }) => uncertainty);
  const [low, high] = [Math.min(...scores) - margin, Math.max(...scores) + margin];
  const x = ({ uncertainty }) => left + ((uncertainty - low) / (high - low)) * (far - left);
  return picture(380, sentence,
    collapseRow(confident, 0, Math.max(...wrong.collapse)),
    shape("path", { d: `M${left} ${line}H${far}`, class: "axis" }),
    words(left, line + 76, "low score", "tick"), words(far, line + 76, "high score", "tick", "end"),
    mark(x(right), line, right, -1), mark(x(confident), line, confident, 1), mark(x(wrong), line, wrong, -1));
}

// What an answer states, with verdict and score.
function withScore({ correct, invented, tokens, reference, uncertainty }) {
  const stated = correct ? reference : invented.map((token) => tokens[token]).join("");
  return `${correct ? "correct" : "incorrect"}: ${stated} ${number(uncertainty)}`;
}

function mark(x, y, answer, side) {
  const group = shape("g", {});
  const near = x < WIDTH / 2;
  group.append(
    shape("circle", { cx: x, cy: y, r: 9, class: answer.correct ? "dot-mark" : "dot-mark wrong" }),
    words(near ? x - 10 : x + 10, y + (side < 0 ? -24 : 38), withScore(answer), "label", near ? "start" : "end"));
  return group;
}
