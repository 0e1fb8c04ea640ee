// Which head, and which layer: the map of all heads with the selected ones, and the uncertainty of each layer.

function drawPicking({ lesson }) {
  const { head_means: means, picked } = lesson;
  const [left, top, cell, row] = [120, 34, 56, 29];
  const strongest = Math.max(...means.flat());
  const y = (layer) => top + layer * row;
  const [first, last] = [picked[0].layer, picked.at(-1).layer];
  const right = left + cell * means[0].length;
  const sentence = `Mean weight on the previous token, for every head. Selected: ${picked.map((p) => `layer ${p.layer} head ${p.head}, mean ${number(p.mean)}`).join("; ")}.`;
  return picture(384, sentence,
    shape("rect", { x: 0, y: y(first) - 2, width: WIDTH, height: row * picked.length + 4, rx: 9, class: "window" }),
    means[0].map((_, head) => words(left + cell * (head + 0.5), 16, head, "tick", "middle")),
    words(left - 14, 16, "head", "tick", "end"),
    means.flatMap((heads, layer) => [
      ...(layer % 2 === 0 || (layer >= first && layer <= last) ? [words(left - 14, y(layer) + row / 2, `layer ${layer}`, "tick", "end")] : []),
      ...heads.map((mean, head) => mapCell(left + cell * head, y(layer), cell, row, mean / strongest)),
    ]),
    picked.flatMap((choice) => [
      shape("rect", { x: left + cell * choice.head + 1, y: y(choice.layer) + 1, width: cell - 2, height: row - 2, rx: 7, class: "ring" }),
      words(right + 40, y(choice.layer) + row / 2, `layer ${choice.layer}  →  head ${choice.head}`, "label mid"),
      words(right + 330, y(choice.layer) + row / 2, `mean weight ${number(choice.mean)}`, "label mid"),
    ]),
    words(right + 40, y(first) - 20, "layers used, and selected heads", "strong label mid"),
    scale(right + 40, y(last + 2) + 6, strongest));
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

function drawLayers({ lesson }) {
  const { picked, wrong } = lesson;
  const largest = Math.max(...picked.map((head) => head.layer_score));
  const [left, row] = [230, 66];
  const x = (value) => (WIDTH - left - 300) * (value / largest);
  const sentence = `Uncertainty of each layer: ${picked.map((p) => `layer ${p.layer} ${number(p.layer_score)}`).join(", ")}. The score comes from layer ${wrong.layer}.`;
  return picture(340, sentence, picked.flatMap((head, i) => {
    const [y, givesScore] = [14 + i * row, head.layer === wrong.layer];
    return [
      words(left - 20, y + 24, `layer ${head.layer}, head ${head.head}`, givesScore ? "label mid strong" : "label mid", "end"),
      shape("rect", { x: left, y, width: x(head.layer_score), height: 46, rx: 6, class: givesScore ? "uncertain" : "uncertain faint" }),
      words(left + x(head.layer_score) + 16, y + 24, number(head.layer_score), givesScore ? "figure mid" : "label mid"),
      ...(givesScore ? [words(left + x(head.layer_score) + 90, y + 24, "the largest: the score", "warm mid")] : []),
    ];
  }));
}
