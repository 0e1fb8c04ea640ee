// How heads look back: two heads at once, one head's weight on the token before, and that weight along the answer.

function drawHeads({ lesson }) {
  const { wrong, near, far } = lesson;
  const grid = columns(wrong.tokens.length);
  const [nearly, farther] = [near, far].map(({ offset }) => (offset === 1 ? "mostly at the token just before" : `mostly ${offset} tokens back`));
  const sentence = `Two heads looking back: layer ${near.layer} head ${near.head} ${nearly}, layer ${far.layer} head ${far.head} ${farther}.`;
  return picture(380, sentence,
    habit(0, 24, near, nearly),
    near.arcs.map((arc) => drawArc(arc, grid, 162, -1)),
    tokenRow(wrong.tokens, grid, 166),
    far.arcs.map((arc) => drawArc(arc, grid, 218, 1)),
    habit(0, 370, far, farther));
}

function habit(x, y, look, text) {
  const line = words(x, y, "", "label");
  line.append(shape("tspan", { class: "strong" }, `layer ${look.layer}, head ${look.head}`), shape("tspan", { dx: 12 }, text));
  return line;
}

function drawArc(arc, grid, y, up) {
  const [from, to] = [grid.at(arc.token), grid.at(arc.to)];
  const height = (26 + 56 * Math.sqrt(arc.token - arc.to)) * up;
  const bend = (from - to) * 0.16;
  const d = `M${from - 8} ${y}C${from - bend} ${y + height * 1.25} ${to + bend} ${y + height * 1.25} ${to + 8} ${y}`;
  return shape("path", { d, class: "arc", "stroke-width": 1 + 10 * arc.weight, opacity: 0.25 + 0.75 * arc.weight });
}

function drawPrevious({ lesson }) {
  const { wrong, near } = lesson;
  const grid = columns(wrong.tokens.length);
  const values = near.previous.map((weight) => (weight === null ? "–" : number(weight)));
  const sentence = `Weight on the token before: ${wrong.tokens.map((token, i) => `${token} ${values[i]}`).join(", ")}.`;
  return picture(380, sentence,
    habit(0, 24, near, "weight on the token just before"),
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

function drawDrop({ lesson }) {
  const { wrong, picked } = lesson;
  const grid = columns(wrong.tokens.length, 64);
  const [top, bottom] = [50, 284];
  const y = (weight) => bottom - weight * (bottom - top);
  const front = picked.find(({ layer }) => layer === wrong.layer);
  const others = picked.filter((head) => head !== front);
  const band = { x: grid.at(wrong.invented[0]) - grid.width / 2, y: top - 10, width: grid.width * wrong.invented.length, height: bottom - top + 10 };
  const sentence = `Weight of layer ${front.layer} head ${front.head} on the token before: ` +
    wrong.tokens.map((token, i) => `${token} ${front.weights[i] === null ? "none" : number(front.weights[i])}`).join(", ");
  return picture(360, sentence,
    shape("rect", { ...band, class: "veil" }),
    [0, 0.5, 1].flatMap((tick) => [
      shape("path", { d: `M64 ${y(tick)}H${WIDTH}`, class: "rule" }), words(52, y(tick), number(tick, 1), "tick", "end"),
    ]),
    others.map((head) => shape("path", { d: curve(head.weights, grid, y), class: "quiet-line" })),
    shape("path", { d: curve(front.weights, grid, y), class: "attention-line" }),
    front.weights.flatMap((weight, i) => (weight === null ? [] : [
      shape("circle", { cx: grid.at(i), cy: y(weight), r: 7, class: "attention" }),
      words(grid.at(i), y(weight) - 18, number(weight), "figure halo", "middle"),
    ])),
    words((band.x * 2 + band.width) / 2, 24, "invented", "warm mid", "middle"),
    legendLine(64, 24, "attention-line", `layer ${front.layer}, head ${front.head}`),
    legendLine(WIDTH - 260, 24, "quiet-line", "other picked heads"),
    tokenRow(wrong.tokens, grid, 304, { invented: wrong.invented }));
}

function legendLine(x, y, kind, text) {
  const group = shape("g", {});
  group.append(shape("path", { d: `M${x} ${y}h36`, class: kind }), words(x + 48, y, text, "label mid"));
  return group;
}

function curve(values, grid, y) {
  return values.flatMap((value, i) => (value === null ? [] : [`${grid.at(i)} ${y(value)}`])).map((point, i) => (i ? "L" : "M") + point).join("");
}
