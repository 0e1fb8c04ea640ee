// A matrix of attention weights as coloured cells, with its scale beside it.

import { clamp } from "../../../../shared/js/numbers.js";
import { bandOf, frameOf, prepare, write, writeTokens, writeTurned } from "./canvas.js";
import { areas, columnAxis, stepOf, weights } from "../numbers/scales.js";
import { roundedUp } from "../numbers/statistics.js";

function drawCells(context, area, { rows, columns, weight, measure, faint = (_row, _column) => false, left = null }) {
  const cellWidth = area.width / columns;
  const cellHeight = area.height / rows;
  const gap = cellWidth > 9 && cellHeight > 9 ? 1 : 0;
  for (let row = 0; row < rows; row += 1) {
    for (let column = 0; column < columns; column += 1) {
      const value = weight(row, column);
      if (Number.isNaN(value)) continue;
      context.globalAlpha = faint(row, column) ? 0.4 : 1;
      context.fillStyle = measure.scale[Math.round(clamp(measure.share(value), 0, 1) * 255)];
      const x = left ? left(column) : area.x + column * cellWidth;
      const y = area.y + row * cellHeight;
      context.fillRect(x, y, cellWidth - gap + (gap ? 0 : 0.5), cellHeight - gap + (gap ? 0 : 0.5));
    }
  }
  context.globalAlpha = 1;
  return { cellWidth, cellHeight };
}

function drawScale(context, x, area, { scale, label }, colours) {
  const height = area.height;
  for (let step = 0; step < 256; step += 1) {
    context.fillStyle = scale[255 - step];
    context.fillRect(x, area.y + (step / 256) * height, 9, height / 256 + 0.6);
  }
  frameOf(context, x, area.y, 9, height, colours.faint, 1);
  for (const share of [0, 0.5, 1]) {
    write(context, label(share), x + 13, area.y + height * (1 - share), { colour: colours.quiet });
  }
}

// Layers down, heads across: the window shaded, the heads selected by RAUQ ringed, the head shown in the other charts framed.
export function drawLayerHead(canvas, data, view, colours) {
  const { context, width, height } = prepare(canvas, colours);
  const { layers, numHeads } = data;
  const area = { x: 44, y: 6, width: Math.max(0, width - 44 - 52), height: Math.max(0, height - 6 - 40) };
  const atToken = view.token > 0;
  const byVerdict = view.mode === "auc";
  const measure = byVerdict ? areas(data.judged.heads.auc, colours) : weights(atToken ? roundedUp(windowAt(data, view.token)) : data.topMean, colours);
  const attention = (row, head) => (atToken ? data.attention[(row * numHeads + head) * data.gaps + view.token - 1] : data.means[row * numHeads + head]);
  const isPicked = (row, head) => data.picked.some((one) => one.row === row && (one.head === head || one.head < 0));
  const weight = (row, head) => (byVerdict ? data.judged.heads.auc[row * numHeads + head] : attention(row, head));
  const faint = (row, head) => byVerdict && Math.abs(weight(row, head) - 0.5) <= data.judged.heads.chance;
  const drawn = (row, head) => (view.mode === "selected" && !isPicked(row, head) ? NaN : weight(row, head));
  const cellHeight = area.height / layers.length;
  const inWindow = data.picked.map(({ row }) => row);
  const first = Math.min(...inWindow);
  const last = Math.max(...inWindow);
  bandOf(context, 0, width - 48, area.y + first * cellHeight, area.y + (last + 1) * cellHeight, colours.veil, 1);
  const { cellWidth } = drawCells(context, area, { rows: layers.length, columns: numHeads, weight: drawn, measure, faint });
  const centre = (row, head) => [area.x + (head + 0.5) * cellWidth, area.y + (row + 0.5) * cellHeight];
  for (const { row, head } of data.picked) if (head >= 0) ring(context, centre(row, head), Math.min(cellWidth, cellHeight, 34) * 0.33, data.layers[row] === data.scoreLayer ? colours.warm : "#ffffff");
  const row = layers.indexOf(view.layer);
  frameOf(context, area.x + view.head * cellWidth - 1, area.y + row * cellHeight - 1, cellWidth + 1, cellHeight + 1, colours.link, 3);

  const everyRow = stepOf(layers.length, area.height, 14);
  layers.forEach((layer, index) => { if (index % everyRow === 0) write(context, layer, area.x - 6, centre(index, 0)[1], { align: "right", colour: colours.text }); });
  const everyHead = stepOf(numHeads, area.width, 18);
  for (let head = 0; head < numHeads; head += everyHead) write(context, head, centre(0, head)[0], area.y + area.height + 11, { align: "center", colour: colours.text });
  write(context, "head", area.x + area.width / 2, height - 8, { align: "center", colour: colours.quiet });
  writeTurned(context, "layer", 9, area.y + area.height / 2, -Math.PI / 2, "center", colours.quiet);
  drawScale(context, width - 42, area, measure, colours);
  return { area, cellWidth, cellHeight, weight, name: byVerdict ? "ROC-AUC" : data.weightName };
}

// Weights at one token of the heads in the layers used by RAUQ, which the colours span: other layers hold larger ones.
function windowAt({ picked, attention, numHeads, gaps }, token) {
  return picked.flatMap(({ row }) => Array.from({ length: numHeads }, (_, head) => attention[(row * numHeads + head) * gaps + token - 1]));
}

function ring(context, centre, radius, inner) {
  const [x, y] = centre;
  for (const [colour, line] of [["#10233f", 4.5], [inner, 2.2]]) {
    context.beginPath();
    context.arc(x, y, Math.max(radius, 2.5), 0, 2 * Math.PI);
    context.strokeStyle = colour;
    context.lineWidth = line;
    context.stroke();
  }
}

// Heads down, answer tokens across, of the selected layer.
export function drawTokenHead(canvas, data, view, colours) {
  const { context, width, height } = prepare(canvas, colours);
  const count = data.tokens.length;
  const area = { x: 44, y: 6, width: Math.max(0, width - 44 - 52), height: Math.max(0, height - 6 - 62) };
  const row = data.layers.indexOf(view.layer);
  const weight = (head, token) => (token ? data.attention[(row * data.numHeads + head) * data.gaps + token - 1] : NaN);
  const measure = weights(roundedUp(data.attention.subarray(row * data.numHeads * data.gaps, (row + 1) * data.numHeads * data.gaps)), colours);
  const axis = columnAxis(data, area, area.width / count);
  const { cellWidth, cellHeight } = drawCells(context, area, { rows: data.numHeads, columns: count, weight, measure, left: axis.left });
  if (data.collapseAt !== null) frameOf(context, axis.left(data.collapseAt), area.y - 2, cellWidth, area.height + 4, colours.warm, 2, [5, 3]);
  if (view.token !== null) frameOf(context, axis.left(view.token), area.y - 2, cellWidth, area.height + 4, colours.link, 2);
  frameOf(context, area.x, area.y + view.head * cellHeight, area.width, cellHeight, colours.link, 2);
  const everyHead = stepOf(data.numHeads, area.height, 14);
  for (let head = 0; head < data.numHeads; head += everyHead) write(context, head, area.x - 6, area.y + (head + 0.5) * cellHeight, { align: "right", colour: colours.text });
  context.fillStyle = colours.text;
  writeTokens(context, data.labels, axis.middle, area.y + area.height + 9, area.width);
  writeTurned(context, "head", 9, area.y + area.height / 2, -Math.PI / 2, "center", colours.quiet);
  drawScale(context, width - 42, area, measure, colours);
  return { area, cellWidth, cellHeight, weight, axis };
}

export function cellAt({ area, cellWidth, cellHeight, axis }, [x, y], rows, columns) {
  const column = axis ? axis.tokenAt(x) : Math.floor((x - area.x) / cellWidth);
  const row = Math.floor((y - area.y) / cellHeight);
  return row >= 0 && row < rows && column >= 0 && column < columns ? { row, column } : null;
}
