// One column per token, all of one layer and head: attention to the previous token, signal, confidence. An answer that is
// scored by surprisal has this on top, in place of the signal, which is the same probability.

import { clamp, shown } from "../../../../shared/js/numbers.js";
import { bandOf, dashes, drawLine, frameOf, prepare, write, writeOver, writeTurned } from "./canvas.js";
import { headCurves, otherCurve, usualWeight } from "../numbers/curves.js";
import { shownHead, titled } from "../numbers/facts.js";
import { columnAxis, columnsOf, logRange, logTicks, placed, scaleEnd } from "../numbers/scales.js";
import { strengths } from "../numbers/sentences.js";
import { largest } from "../numbers/statistics.js";
import { shortLabel } from "../numbers/tokens.js";

const UNDERLINES = [1, 2, 3, 4.5]; // pixels, as in the text

export function drawTracks(canvas, data, view, colours) {
  const { context, width, height } = prepare(canvas, colours);
  const columns = columnsOf(canvas, data, view);
  const { left, shown, first, cell } = columns;
  const area = { x: left, width: columns.width };
  const axis = columnAxis(data, area, cell, first);
  const xOf = axis.middle;
  const foot = height - 58;
  const places = placed(columns.narrow ? 18 : 12, foot, columns.narrow ? 20 : 14);
  const inside = (token) => token !== null && token !== undefined && token >= first && token < first + shown;
  if (inside(data.collapseAt)) bandOf(context, xOf(data.collapseAt) - cell / 2, cell, 4, foot, colours.warm, 0.16);
  if (inside(view.token)) frameOf(context, xOf(view.token) - cell / 2, 4, cell, foot - 3, colours.link, 1.5, [4, 3]);
  const curves = headCurves(data, view);
  const frame = { context, data, view, columns, area, axis, xOf, colours };
  const bySurprisal = data.measure.name === "surprisal";
  (bySurprisal ? drawSurprisal : drawSignal)(frame, bySurprisal ? places.attention : places.signal);
  drawAttention(frame, bySurprisal ? places.signal : places.attention, curves);
  drawHeadConfidence(frame, places.confidence, curves);
  writeColumns(frame, foot);
  veilOthers(frame, height);
  context.clearRect(left + columns.width + 1, 0, width, height);
  if (data.direction === "rtl" && !columns.narrow) write(context, "← tokens", 0, height - 8, { colour: colours.quiet });
  return { axis, first, count: Math.min(shown, data.tokens.length - first), curves };
}

// What is beside the selected sentence stands back.
function veilOthers({ context, data, view, columns, axis, colours }, height) {
  const sentence = data.sentences?.[view.sentence];
  if (!sentence) return;
  const [first, stop] = [columns.first, columns.first + columns.shown];
  const [start, end] = sentence.tokens.map((token) => clamp(token, first, stop));
  for (const [from, to] of [[first, start], [end, stop]]) {
    if (from < to) bandOf(context, Math.min(axis.left(from), axis.left(to - 1)), (to - from) * columns.cell, 0, height, colours.background, 0.6);
  }
}

function nameTrack({ context, columns, colours }, [top, bottom], title, sub) {
  if (columns.narrow) {
    write(context, `${title.join(" ")}, ${sub}`, columns.left, top - 8, { colour: colours.text });
    return;
  }
  const middle = (top + bottom) / 2 - (title.length * 15) / 2;
  title.forEach((line, index) => write(context, line, 0, middle + index * 15, { colour: colours.text, bold: true }));
  write(context, sub, 0, middle + title.length * 15, { colour: colours.quiet });
}

function drawBars({ context, columns, area, axis, colours }, values, [top, bottom], high, colour) {
  const { first, shown, cell } = columns;
  const gap = cell > 8 ? cell * 0.22 : 0;
  context.save();
  context.fillStyle = colour;
  for (let place = 0; place < shown; place += 1) {
    const value = values(first + place);
    if (!Number.isFinite(value)) continue;
    const tall = (clamp(value / high, 0, 1)) * (bottom - top);
    context.fillRect(axis.left(first + place) + gap / 2, bottom - tall, cell - gap, tall);
  }
  context.restore();
  context.fillStyle = colours.faint;
  context.fillRect(area.x, bottom, area.width, 1);
  write(context, scaleEnd(high), area.x - 6, top + 4, { align: "right", colour: colours.text });
  write(context, "0", area.x - 6, bottom - 2, { align: "right", colour: colours.text });
}

const which = (data, view) => `layer ${view.layer}, ${shownHead(data, view).replace("its ", "")}`;

function drawAttention(frame, place, { attention }) {
  const { context, data, view, area, colours } = frame;
  const usual = usualWeight(data, view);
  const most = Math.max(0, largest(attention), usual ?? 0);
  const high = clamp(Math.ceil(most * 20 - 1e-6) / 20, 0.1, 1);
  nameTrack(frame, place, [`${titled(data.weightName)} to the`, "previous token"], which(data, view));
  drawBars(frame, (token) => (token ? attention[token - 1] : NaN), place, high, colours.blue);
  if (usual === undefined) return;
  const y = place[1] - (usual / high) * (place[1] - place[0]);
  dashes(context, area, y, colours.usual);
  const said = `in correct answers ${shown(usual, 2)}`;
  // Beside the name of the track, where no bar is.
  if (frame.columns.narrow) writeOver(context, `– – ${said}`, area.x + area.width, place[0] - 8, colours.usual, colours.background);
  else write(context, `– – ${said}`, 0, (place[0] + place[1]) / 2 + 30, { colour: colours.usual });
}

function drawSignal(frame, place) {
  const { data, colours } = frame;
  nameTrack(frame, place, ["Signal"], data.signalUnit);
  const high = Math.max(data.sureSignal, largest(data.signal));
  drawBars(frame, (token) => data.signal[token], place, high, colours.signal);
}

function drawSurprisal(frame, place) {
  const { data, colours } = frame;
  nameTrack(frame, place, ["Surprisal"], "nats; the largest is the score");
  drawBars(frame, (token) => data.collapse[token], place, Math.max(1, Math.ceil(largest(data.collapse))), colours.warm);
}

function drawHeadConfidence(frame, [top, bottom], curves) {
  const { context, data, view, columns, area, xOf, colours } = frame;
  nameTrack(frame, [top, bottom], ["Confidence"], `${which(data, view)}, log scale`);
  const values = curves.confidence;
  if (!values?.some((value) => value > 0)) {
    const why = values || curves.given ? "no per-token confidence with this setting" : "drawn for selected heads only with this update";
    return write(context, why, area.x + area.width / 2, (top + bottom) / 2, { align: "center", colour: colours.text });
  }
  const other = otherCurve(data, view);
  const [low, high] = logRange([values, curves.sure, ...(other ? [other.values] : [])]);
  const yOf = (value) => bottom - ((Math.log10(value) - low) / (high - low)) * (bottom - top);
  for (const tick of logTicks(low, high)) gridLine(frame, yOf(tick), `${tick}`);
  const stop = columns.first + columns.shown;
  const seen = (all) => all.map((value, token) => (token >= columns.first && token < stop ? value : NaN));
  context.save();
  context.beginPath();
  context.rect(area.x - 4, top - 8, area.width + 8, bottom - top + 16);
  context.clip();
  drawLine(context, seen(curves.sure), xOf, yOf, { colour: colours.text, line: 1.5, dash: [2, 3] });
  if (other) drawLine(context, seen(other.values), xOf, yOf, { colour: colours.other, line: 2.5, dots: columns.cell > 9 });
  drawLine(context, seen(values), xOf, yOf, { colour: colours.warm, line: 3, dots: columns.cell > 9 });
  context.restore();
  const known = curves.sure.findLast((value, token) => token < stop && value > 0);
  if (known) writeOver(context, "dotted: fully confident, mean attention", area.x + area.width, yOf(known) - 9, colours.quiet, colours.background);
}

function gridLine({ context, area, colours }, y, text) {
  context.save();
  context.globalAlpha = 0.5;
  context.fillStyle = colours.faint;
  context.fillRect(area.x, y, area.width, 1);
  context.restore();
  write(context, text, area.x - 6, y, { align: "right", colour: colours.text });
}

// Token labels under the columns: the weakest point and the selected token always, others as many as fit.
function writeColumns({ context, data, view, columns, xOf, colours }, foot) {
  const { first, shown: many, cell } = columns;
  const every = Math.max(1, Math.ceil(13 / cell));
  const marked = new Map([[data.collapseAt, colours.warmText], [view.token, colours.link]]);
  for (let token = first; token < first + many; token += 1) {
    const own = token < data.labels.length;
    const text = own ? data.labels[token] : data.other?.tokens?.[token];
    if (text === undefined) break;
    const near = [...marked.keys()].some((other) => other !== null && other !== token && Math.abs(other - token) < every);
    if (!marked.has(token) && ((token - first) % every || near)) continue;
    context.save();
    if (marked.has(token)) context.font = `600 ${context.font}`;
    writeTurned(context, shortLabel(text), xOf(token) + 3, foot + 9, -0.85, "right", marked.get(token) ?? (own ? colours.text : colours.other));
    context.restore();
  }
}

// A sentence in the overview, underlined by its rank as in the text; the selected one has a ground.
function drawPlace(context, axis, cell, [first, stop], step, isSelected, height, colours) {
  const left = Math.min(axis.left(first), axis.left(stop - 1));
  if (isSelected) bandOf(context, left, (stop - first) * cell, 0, height, colours.link, 0.16);
  if (step !== undefined) bandOf(context, left + 0.5, Math.max(1, (stop - first) * cell - 1), height - UNDERLINES[step], height, colours.warm, 0.4 + 0.2 * step);
}

// All tokens of a long answer by their collapse, with a frame around those in the tracks.
export function drawOverview(canvas, data, view, columns, colours) {
  const { context, width, height } = prepare(canvas, colours);
  const count = data.tokens.length;
  const cell = width / columns.all;
  const axis = columnAxis(data, { x: 0, width }, cell);
  const most = Math.max(1e-9, largest(data.collapse));
  const room = data.sentences?.length ? 7 : 0;
  context.fillStyle = colours.warm;
  for (let token = 0; token < count; token += 1) {
    const tall = (clamp(data.collapse[token] / most, 0, 1) || 0) * (height - 6 - room);
    context.fillRect(axis.left(token), height - 2 - room - tall, Math.max(1, cell - 0.5), tall);
  }
  const marks = strengths(data.sentences ?? []);
  data.sentences?.forEach(({ tokens }, place) => drawPlace(context, axis, cell, tokens, marks[place], place === view.sentence, height, colours));
  const start = Math.min(axis.left(columns.first), axis.left(columns.first + columns.shown - 1));
  frameOf(context, start + 1, 1, columns.shown * cell - 2, height - 2, colours.link, 2);
  return { axis };
}
