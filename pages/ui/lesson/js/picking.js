// Which head, and which layer: the map of all heads with the selected ones, and the uncertainty of each layer.

import { number, picture, shape, WIDTH, words } from "./pictures.js";

export function drawPicking({ lesson }) {
  const { head_means: means, picked } = lesson;
  const [left, top, row] = [112, 64, 26];
  const cell = (WIDTH - left) / means.length;
  const strongest = Math.max(...means.flat());
  const [x, y] = [(layer) => left + layer * cell, (head) => top + head * row];
  const [first, last, bottom] = [picked[0].layer, picked.at(-1).layer, y(means[0].length)];
  const sentence = `Mean weight on the previous token, for every head. Selected: ${picked.map((p) => `layer ${p.layer} head ${p.head}, mean ${number(p.mean)}`).join("; ")}.`;
  return picture(384, sentence,
    shape("rect", { x: x(first) - 2, y: 0, width: cell * picked.length + 4, height: bottom + 40, rx: 9, class: "window" }),
    words((x(first) + x(last + 1)) / 2, 18, "layers used by RAUQ", "strong label mid", "middle"),
    words(left - 14, 46, "layer", "tick", "end"),
    words(left - 14, bottom + 20, "selected", "tick", "end"),
    means[0].map((_, head) => words(left - 14, y(head) + row / 2, `head ${head}`, "tick", "end")),
    means.flatMap((heads, layer) => [
      words(x(layer) + cell / 2, 46, layer, "tick", "middle"),
      ...heads.map((mean, head) => mapCell(x(layer), y(head), cell, row, mean / strongest)),
    ]),
    picked.flatMap(({ layer, head }) => [
      shape("rect", { x: x(layer) + 1, y: y(head) + 1, width: cell - 2, height: row - 2, rx: 7, class: "ring" }),
      words(x(layer) + cell / 2, bottom + 20, head, "strong label mid", "middle"),
    ]),
    scale(left, bottom + 52, strongest));
}

function mapCell(x, y, width, height, share) {
  const attributes = { x: x + 1.5, y: y + 1.5, width: width - 3, height: height - 3, rx: 5, class: "cell", style: `--share: ${share}` };
  return shape("rect", attributes);
}

function scale(x, y, strongest) {
  const shades = [0, 0.25, 0.5, 0.75, 1];
  return [
    ...shades.map((share, i) => mapCell(x + 40 + i * 44, y, 44, 29, share)),
    words(x, y + 15, "0", "tick mid"), words(x + 272, y + 15, `${number(strongest)}  mean weight, whole answer`, "tick mid"),
  ];
}

export function drawLayers({ lesson }) {
  const { picked, wrong } = lesson;
  const largest = Math.max(...picked.map((head) => head.layer_score));
  const [left, row] = [230, 344 / picked.length];
  const x = (value) => (WIDTH - left - 300) * (value / largest);
  const sentence = `Uncertainty of each layer: ${picked.map((p) => `layer ${p.layer} ${number(p.layer_score)}`).join(", ")}. The score comes from layer ${wrong.layer}.`;
  return picture(344, sentence, picked.flatMap((head, i) => {
    const [y, givesScore] = [i * row, head.layer === wrong.layer];
    return [
      words(left - 20, y + row / 2, `layer ${head.layer}, head ${head.head}`, givesScore ? "label mid strong" : "label mid", "end"),
      shape("rect", { x: left, y: y + 2, width: x(head.layer_score), height: row - 4, rx: 6, class: givesScore ? "uncertain" : "uncertain faint" }),
      words(left + x(head.layer_score) + 16, y + row / 2, number(head.layer_score), givesScore ? "figure mid" : "label mid"),
      ...(givesScore ? [words(left + x(head.layer_score) + 90, y + row / 2, "the largest: the score", "warm mid")] : []),
    ];
  }));
}
