// Attention to earlier tokens: two heads at once, one head's weight on the previous token, and that weight along the answer.

import { columns, number, picture, shape, tokenRow, WIDTH, words } from "./pictures.js";

export function drawHeads({ lesson }) {
  const { wrong, near, far } = lesson;
  const grid = columns(wrong.tokens);
  const [nearly, farther] = [near, far].map(({ offset }) => (offset === 1 ? "mostly on the previous token" : `mostly ${offset} tokens back`));
  const sentence = `Attention of two heads: layer ${near.layer} head ${near.head} ${nearly}, layer ${far.layer} head ${far.head} ${farther}.`;
  return picture(380, sentence,
    pattern(0, 24, near, nearly),
    near.arcs.map((arc) => drawArc(arc, grid, 162, -1)),
    tokenRow(wrong.tokens, grid, 166),
    far.arcs.map((arc) => drawArc(arc, grid, 218, 1)),
    pattern(0, 370, far, farther));
}

function pattern(x, y, look, text) {
  const line = words(x, y, "", "label");
  line.append(shape("tspan", { class: "strong" }, `layer ${look.layer}, head ${look.head}`), shape("tspan", { dx: 12 }, text));
  return line;
}

function drawArc(arc, grid, y, up) {
  const [from, to] = [grid.at(arc.token), grid.at(arc.to)];
  const height = (26 + 38 * Math.sqrt(arc.token - arc.to)) * up;
  const bend = (from - to) * 0.16;
  const d = `M${from - 8} ${y}C${from - bend} ${y + height * 1.25} ${to + bend} ${y + height * 1.25} ${to + 8} ${y}`;
  return shape("path", { d, class: "arc", "stroke-width": 1 + 10 * arc.weight, opacity: 0.25 + 0.75 * arc.weight });
}

export function drawPrevious({ lesson }) {
  const { wrong, near } = lesson;
  const grid = columns(wrong.tokens);
  const values = near.previous.map((weight) => (weight === null ? "–" : number(weight)));
  const sentence = `Weight on the previous token: ${wrong.tokens.map((token, i) => `${token} ${values[i]}`).join(", ")}.`;
  return picture(380, sentence,
    pattern(0, 24, near, "weight on the previous token"),
    near.previous.flatMap((weight, token) => (weight ? [drawArc({ token, to: token - 1, weight }, grid, 166, -1.25)] : [])),
    tokenRow(wrong.tokens, grid, 170),
    near.previous.flatMap((weight, token) => (weight === null ? [] : [weightBar(grid.at(token), 236, 66, weight)])),
    values.map((text, token) => words(grid.at(token), 348, text, "figure", "middle")));
}

function weightBar(x, y, height, weight) {
  const track = shape("rect", { x: x - 22, y, width: 44, height, rx: 4, class: "track" });
  const bar = shape("rect", { x: x - 22, y: y + height * (1 - weight), width: 44, height: height * weight, rx: 4, class: "attention" });
  const pair = shape("g", {});
  pair.append(track, bar);
  return pair;
}

export function drawDrop({ lesson }) {
  const { wrong, drop, mean_weights: means } = lesson;
  const grid = columns(wrong.tokens, 64);
  const [top, bottom] = [76, 276];
  const highest = Math.ceil(4 * Math.max(...means, ...drop.weights, drop.corrected)) / 4;
  const y = (weight) => bottom - (weight / highest) * (bottom - top);
  const after = wrong.invented[0] + 1;
  return picture(374, spoken(wrong, drop, means),
    veil(wrong, grid, top - 8, bottom),
    [0, highest / 2, highest].flatMap((tick) => [
      shape("path", { d: `M64 ${y(tick)}H${WIDTH}`, class: "rule" }), words(52, y(tick), number(tick), "tick", "end"),
    ]),
    shape("path", { d: curve(means, grid, y), class: "mean-line" }),
    shape("path", { d: curve(drop.weights, grid, y), class: "attention-line" }),
    drop.weights.flatMap((weight, i) => (weight === null ? [] : [
      shape("circle", { cx: grid.at(i), cy: y(weight), r: 7, class: "attention" }),
      words(grid.at(i), bottom + 24, number(weight), "figure blue mid", "middle"),
    ])),
    shape("circle", { cx: grid.at(after), cy: y(drop.corrected), r: 8, class: "corrected" }),
    words(grid.at(after), y(drop.corrected) - 34, `${number(drop.corrected)} after ${drop.correct}`, "figure halo", "middle"),
    legendLine(64, 18, "attention-line", `layer ${drop.layer}, head ${drop.head}`),
    legendLine(370, 18, "mean-line", "mean of the selected heads"),
    tokenRow(wrong.tokens, grid, 318, { invented: wrong.invented }));
}

function spoken(wrong, drop, means) {
  const told = (weight) => (weight === null ? "none" : number(weight));
  const list = wrong.tokens.map((token, i) => `${token} ${told(drop.weights[i])}, mean ${told(means[i])}`);
  return `Weight of layer ${drop.layer} head ${drop.head} on the previous token, and the mean of the selected heads: ${list.join("; ")}. After ${drop.correct}: ${told(drop.corrected)}`;
}

// Behind the incorrect tokens.
function veil({ invented }, grid, top, bottom) {
  const [first, last] = [invented[0], invented.at(-1)];
  const left = grid.at(first) - grid.widths[first] / 2;
  const right = grid.at(last) + grid.widths[last] / 2;
  return [
    shape("rect", { x: left, y: top, width: right - left, height: bottom - top, class: "veil" }),
    words((left + right) / 2, top - 14, "incorrect", "warm mid", "middle"),
  ];
}

function legendLine(x, y, kind, text) {
  const group = shape("g", {});
  group.append(shape("path", { d: `M${x} ${y}h36`, class: kind }), words(x + 48, y, text, "label mid"));
  return group;
}

function curve(values, grid, y) {
  return values.flatMap((value, i) => (value === null ? [] : [`${grid.at(i)} ${y(value)}`])).map((point, i) => (i ? "L" : "M") + point).join("");
}
