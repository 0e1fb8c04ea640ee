// Confidence along the answer in every layer of the window; the layer that gives the score in front.

function drawConfidence(canvas, data, view, colours) {
  const { context, width, height } = prepare(canvas, colours);
  const count = data.tokens.length;
  const left = 44;
  const area = { x: left, width: Math.max(0, width - left - 8) };
  const cell = area.width / (data.live ? roomFor(count) : count);
  const axis = columnAxis(data, area, cell);
  const xOf = axis.middle;
  const foot = height - 58;
  if (data.collapseAt !== null) bandOf(context, axis.left(data.collapseAt), cell, 20, foot, colours.warm, 0.16);
  if (view.token !== null) frameOf(context, axis.left(view.token), 19, cell, foot - 18, colours.link, 1.5, [4, 3]);
  drawCurves(context, data, view, [20, foot - 4], area, xOf, colours);
  context.fillStyle = colours.text;
  writeTokens(context, data.labels, xOf, foot + 9, area.width);
  return { axis };
}

// Columns for an answer that is still being generated: the curve grows to the right, and is squeezed only now and then.
function roomFor(count) {
  return Math.max(16, 2 ** Math.ceil(Math.log2(count)));
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
  return inside.length > 1 ? inside : [low, (low + high) / 2, high].map((end) => Number((10 ** end).toPrecision(2)));
}
