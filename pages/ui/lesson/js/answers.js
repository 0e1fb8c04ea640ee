// Collapse under the tokens of answers, and their scores on one line.

function drawAnswers({ lesson }) {
  const { right, wrong } = lesson;
  const sentence = `Collapse token by token. Right answer, score ${number(right.uncertainty)}: ${spelt(right)}. Wrong answer, score ${number(wrong.uncertainty)}: ${spelt(wrong)}.`;
  const tallest = Math.max(...right.collapse, ...wrong.collapse);
  return picture(390, sentence, collapseRow(right, 0, tallest), collapseRow(wrong, 200, tallest));
}

function spelt(answer) {
  return answer.tokens.map((token, i) => `${token} ${number(answer.collapse[i])}`).join(", ");
}

function collapseRow(answer, top, tallest, { room = 104, left = 180 } = {}) {
  const grid = columns(answer.tokens.length, left);
  const base = top + room + 34;
  const height = (value) => Math.max(0, value) * (room / tallest);
  return [
    words(0, top + 42, answer.correct ? "right" : "wrong", "label strong"),
    words(0, top + 86, number(answer.uncertainty), "huge"),
    shape("path", { d: `M${left} ${base}H${WIDTH}`, class: "rule" }),
    ...answer.collapse.flatMap((value, i) => [
      shape("rect", { x: grid.at(i) - 24, y: base - height(value), width: 48, height: height(value), class: "uncertain" }),
      words(grid.at(i), base - height(value) - 12, number(value, 1), "tick", "middle"),
    ]),
    ...tokenRow(answer.tokens, grid, base + 6, { invented: answer.invented, kind: "token small", height: 40 }),
  ];
}

function drawLimits({ lesson }) {
  const { myth, right, wrong } = lesson;
  const tallest = Math.max(...wrong.collapse);
  const sentence = `The myth scores ${number(myth.uncertainty)}, the right answer ${number(right.uncertainty)}, the invented word ${number(wrong.uncertainty)}.`;
  const [left, far] = [40, WIDTH - 40];
  const [low, high] = [Math.min(right.uncertainty, myth.uncertainty) - 0.1, wrong.uncertainty + 0.1];
  const x = (score) => left + ((score - low) / (high - low)) * (far - left);
  const line = 310;
  return picture(380, sentence,
    collapseRow(myth, 0, tallest, { left: 0 }),
    shape("path", { d: `M${left} ${line}H${far}`, class: "axis" }),
    words(left, line + 62, "low score", "tick"), words(far, line + 62, "high score", "tick", "end"),
    mark(x(right.uncertainty), line, "right", right, -1), mark(x(myth.uncertainty), line, "wrong", myth, 1),
    mark(x(wrong.uncertainty), line, "wrong", wrong, -1));
}

function mark(x, y, verdict, answer, side) {
  const group = shape("g", {});
  const kind = verdict === "right" ? "dot-mark" : "dot-mark wrong";
  const near = x < WIDTH / 2;
  group.append(
    shape("circle", { cx: x, cy: y, r: 11, class: kind }),
    words(near ? x - 12 : x + 12, y + (side < 0 ? -26 : 40), `${verdict}: ${answer.answer}  ${number(answer.uncertainty)}`, "label", near ? "start" : "end"));
  return group;
}
