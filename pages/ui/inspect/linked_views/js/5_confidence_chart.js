// Confidence along the answer, every layer of the window; signal and attention of the front layer underneath.

function drawConfidence(canvas, data, view, colours) {
  const { context, width, height } = prepare(canvas, colours);
  const count = data.tokens.length;
  const left = 44;
  const area = { x: left, width: Math.max(0, width - left - 8) };
  const cell = area.width / (data.live ? roomFor(count) : count);
  const xOf = (token) => area.x + (token + 0.5) * cell;
  const foot = height - 58;
  const panels = { confidence: [20, foot * 0.58], signal: [foot * 0.58 + 14, foot * 0.79 - 4], attention: [foot * 0.79 + 10, foot] };
  if (data.collapseAt !== null) bandOf(context, area.x + data.collapseAt * cell, cell, 20, foot, colours.warm, 0.16);
  if (view.token !== null) frameOf(context, area.x + view.token * cell, 19, cell, foot - 18, colours.link, 1.5, [4, 3]);
  drawCurves(context, data, view, panels.confidence, area, xOf, colours);
  const front = data.frontRow;
  drawBars(context, "signal", (token) => data.signal[token], panels.signal, { area, cell, count, colour: colours.warm, colours, top: signalTop });
  const fed = (token) => (token ? data.pickedAttention[front * data.gaps + token - 1] : NaN);
  drawBars(context, "attention", fed, panels.attention, { area, cell, count, colour: colours.blue, colours, top: attentionTop, other: otherHead(data, view), otherName: `layer ${view.layer} head ${view.head}`, usual: usualWeight(data) });
  context.fillStyle = colours.text;
  writeTokens(context, data.labels, xOf, foot + 9, area.width);
  return { area, cell };
}

// The upper end of a track: signals fill it, and weights, which are small for most heads, have a scale of their own.
const signalTop = (most) => Math.max(1, most);
const attentionTop = (most) => clamp(Math.ceil(most * 20 - 1e-6) / 20, 0.1, 1);

// The mean weight of the front layer's head in correct answers of the reference; undefined where there is none.
function usualWeight(data) {
  const { row, head } = data.picked[data.frontRow];
  return head < 0 ? undefined : data.judged?.heads?.inCorrect[row * data.numHeads + head];
}

function drawUsual(context, usual, y, area, top, colours) {
  context.save();
  context.strokeStyle = colours.text;
  context.setLineDash([4, 3]);
  context.beginPath();
  context.moveTo(area.x, y);
  context.lineTo(area.x + area.width, y);
  context.stroke();
  context.restore();
  write(context, `dashes: mean in correct answers, ${shown(usual, 2)}`, area.x + 2, top - 3, { colour: colours.text });
}

// Columns for an answer that is still being generated: the curve grows to the right, and is squeezed only now and then.
function roomFor(count) {
  return Math.max(16, 2 ** Math.ceil(Math.log2(count)));
}

// Weights of the head chosen by the user, if it is not the one drawn as bars; none are there while an answer is generated.
function otherHead(data, view) {
  const picked = data.picked[data.frontRow];
  if (data.live || (picked.layer === view.layer && picked.head === view.head)) return null;
  const row = data.layers.indexOf(view.layer);
  return (token) => (token ? data.attention[(row * data.numHeads + view.head) * data.gaps + token - 1] : NaN);
}

function drawCurves(context, data, view, [top, bottom], area, xOf, colours) {
  const count = data.tokens.length;
  const rowOf = (row) => data.confidence.subarray(row * count, (row + 1) * count);
  const sure = data.sure.subarray(data.frontRow * count, (data.frontRow + 1) * count);
  if (!data.confidence.some((value) => value > 0)) {
    return write(context, "no per-token confidence with this setting", area.x + area.width / 2, (top + bottom) / 2, { align: "center", colour: colours.text });
  }
  const [low, high] = logRange([data.confidence, sure]);
  const yOf = (value) => bottom - ((Math.log10(value) - low) / (high - low)) * (bottom - top);
  for (const tick of logTicks(low, high)) {
    const y = yOf(tick);
    context.fillStyle = colours.faint;
    context.globalAlpha = 0.5;
    context.fillRect(area.x, y, area.width, 1);
    context.globalAlpha = 1;
    write(context, `${tick}`, area.x - 6, y, { align: "right", colour: colours.text });
  }
  data.picked.forEach((_, row) => { if (row !== data.frontRow) drawLine(context, rowOf(row), xOf, yOf, { colour: colours.quiet, line: 1, opacity: 0.45 }); });
  drawLine(context, sure, xOf, yOf, { colour: colours.text, line: 1.5, dash: [2, 3] });
  const selected = data.picked.findIndex(({ layer }) => layer === view.layer);
  if (selected >= 0 && selected !== data.frontRow) drawLine(context, rowOf(selected), xOf, yOf, { colour: colours.blue, line: 2 });
  drawLine(context, rowOf(data.frontRow), xOf, yOf, { colour: colours.warm, line: 3, dots: count <= 60 });
  drawKey(context, data, selected, area, colours);
}

function drawKey(context, data, selected, area, colours) {
  const entries = [[`c, layer ${data.picked[data.frontRow].layer}`, colours.warm, 3, []], ["r, fully confident", colours.text, 1.5, [2, 3]]];
  if (selected >= 0 && selected !== data.frontRow) entries.push([`layer ${data.picked[selected].layer}`, colours.blue, 2, []]);
  if (data.picked.length > 1) entries.push(["other layers", colours.quiet, 1, []]);
  let x = area.x;
  for (const [name, colour, line, dash] of entries) {
    if (x + 25 + context.measureText(name).width > area.x + area.width) return;
    context.save();
    context.strokeStyle = colour;
    context.lineWidth = line;
    context.setLineDash(dash);
    context.beginPath();
    context.moveTo(x, 8);
    context.lineTo(x + 20, 8);
    context.stroke();
    context.restore();
    write(context, name, x + 25, 8, { colour: colours.text });
    x += 25 + context.measureText(name).width + 14;
  }
}

function drawLine(context, values, xOf, yOf, { colour, line, dash = [], opacity = 1, dots = false }) {
  context.save();
  context.globalAlpha = opacity;
  context.strokeStyle = colour;
  context.fillStyle = colour;
  context.lineWidth = line;
  context.lineJoin = "round";
  context.setLineDash(dash);
  context.beginPath();
  let down = false;
  values.forEach((value, token) => {
    const drawable = value > 0 && Number.isFinite(value);
    if (drawable) context[down ? "lineTo" : "moveTo"](xOf(token), yOf(value));
    down = drawable;
  });
  context.stroke();
  if (dots) values.forEach((value, token) => { if (value > 0) dot(context, xOf(token), yOf(value)); });
  context.restore();
}

function dot(context, x, y) {
  context.beginPath();
  context.arc(x, y, 3.2, 0, 2 * Math.PI);
  context.fill();
}

function drawBars(context, name, valueOf, [top, bottom], { area, cell, count, colour, colours, top: topOf, other, otherName, usual }) {
  const values = Array.from({ length: count }, (_, token) => valueOf(token));
  const others = other ? Array.from({ length: count }, (_, token) => other(token)) : [];
  const high = topOf(Math.max(0, largest(values), largest(others), usual ?? 0));
  const yOf = (value) => bottom - (value / high) * (bottom - top);
  const gap = cell > 12 ? cell * 0.3 : 0;
  context.save();
  context.fillStyle = colour;
  context.globalAlpha = 0.85;
  values.forEach((value, token) => { if (Number.isFinite(value)) context.fillRect(area.x + token * cell + gap / 2, yOf(value), cell - gap, bottom - yOf(value)); });
  context.restore();
  if (other) {
    drawSteps(context, others, area, cell, yOf, colours.text);
    write(context, `line: ${otherName}`, area.x + area.width, top - 3, { align: "right", colour: colours.text });
  }
  if (usual !== undefined) drawUsual(context, usual, yOf(usual), area, top, colours);
  context.fillStyle = colours.faint;
  context.fillRect(area.x, bottom, area.width, 1);
  write(context, shown(high, high < 1 ? 2 : 1).replace(/\.?0$/, ""), area.x - 6, top + 3, { align: "right", colour: colours.text });
  write(context, "0", area.x - 6, bottom - 2, { align: "right", colour: colours.text });
  writeTurned(context, name, 9, (top + bottom) / 2, -Math.PI / 2, "center", colours.quiet);
}

function drawSteps(context, values, area, cell, yOf, colour) {
  context.fillStyle = colour;
  values.forEach((value, token) => { if (Number.isFinite(value)) context.fillRect(area.x + token * cell, yOf(value) - 1, cell, 2); });
}

function logRange(arrays) {
  let [low, high] = [Infinity, -Infinity];
  for (const values of arrays) {
    for (const value of values) {
      if (!(value > 0 && Number.isFinite(value))) continue;
      low = Math.min(low, Math.log10(value));
      high = Math.max(high, Math.log10(value));
    }
  }
  return low > high ? [-1, 0] : [low - 0.06 * (high - low) - 0.02, high + 0.06 * (high - low) + 0.02];
}

// 1, 2, 5 of each power of ten; powers alone, thinned further, where those would be too many.
function logTicks(low, high) {
  const powers = Array.from({ length: Math.ceil(high) - Math.floor(low) + 1 }, (_, index) => Math.floor(low) + index);
  const digits = high - low <= 2 ? [1, 2, 5] : [1];
  const every = Math.ceil((high - low) / 6) || 1;
  const ticks = powers.filter((power) => power % every === 0).flatMap((power) => digits.map((digit) => Number((digit * 10 ** power).toPrecision(1))));
  const inside = ticks.filter((tick) => Math.log10(tick) >= low && Math.log10(tick) <= high);
  return inside.length ? inside : [low, high].map((end) => Number((10 ** end).toPrecision(2)));
}
