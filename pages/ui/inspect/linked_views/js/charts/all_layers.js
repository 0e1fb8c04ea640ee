// Confidence along the answer in every layer of the window; the layer that gives the score in front.

import { bandOf, drawLine, frameOf, prepare, write, writeTokens } from "./canvas.js";
import { columnAxis, logRange, logTicks, roomFor } from "../numbers/scales.js";

export function drawConfidence(canvas, data, view, colours) {
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
