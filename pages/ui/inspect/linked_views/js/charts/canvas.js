// Shared by every canvas: sharp pixels, texts and lines.

import { directionOf } from "../numbers/order.js";

export function prepare(canvas, colours) {
  const width = canvas.clientWidth;
  const height = canvas.clientHeight;
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = `12px ${colours.font}`;
  context.fillStyle = colours.quiet;
  return { context, width, height };
}

export function write(context, text, x, y, { align = "left", baseline = "middle", colour = "", bold = false } = {}) {
  context.save();
  if (colour) context.fillStyle = colour;
  if (bold) context.font = `600 ${context.font}`;
  context.textAlign = align;
  context.textBaseline = baseline;
  context.direction = directionOf(`${text}`); // a leading space is drawn where the text begins
  context.fillText(text, x, y);
  context.restore();
}

export function writeTurned(context, text, x, y, angle, align, colour) {
  context.save();
  context.translate(x, y);
  context.rotate(angle);
  write(context, text, 0, 0, { align, colour });
  context.restore();
}

// Token labels under an axis, tilted; evenly thinned where they would overlap. An axis without
// width, as on a hidden or very narrow canvas, gets none: a step of 0 or below would never reach the end.
export function writeTokens(context, labels, xOf, y, width) {
  if (!(width > 0)) return;
  const step = Math.max(1, Math.ceil((labels.length * 17) / width));
  for (let index = 0; index < labels.length; index += step) {
    writeTurned(context, labels[index], xOf(index) + 3, y, -0.85, "right");
  }
}

// A text that stays readable over bars and lines.
export function writeOver(context, text, x, y, colour, background) {
  context.save();
  context.textAlign = "right";
  context.textBaseline = "middle";
  context.lineJoin = "round";
  context.lineWidth = 5;
  context.strokeStyle = background;
  context.strokeText(text, x, y);
  context.fillStyle = colour;
  context.fillText(text, x, y);
  context.restore();
}

export function bandOf(context, x, width, top, bottom, colour, opacity) {
  context.save();
  context.globalAlpha = opacity;
  context.fillStyle = colour;
  context.fillRect(x, top, width, bottom - top);
  context.restore();
}

export function frameOf(context, x, y, width, height, colour, line = 2, dash = []) {
  context.save();
  context.strokeStyle = colour;
  context.lineWidth = line;
  context.setLineDash(dash);
  context.strokeRect(x, y, width, height);
  context.restore();
}

export function dashes(context, area, y, colour) {
  context.save();
  context.strokeStyle = colour;
  context.lineWidth = 1.5;
  context.setLineDash([5, 3]);
  context.beginPath();
  context.moveTo(area.x, y);
  context.lineTo(area.x + area.width, y);
  context.stroke();
  context.restore();
}

export function drawLine(context, values, xOf, yOf, { colour, line, dash = [], opacity = 1, dots = false }) {
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

export function pointIn(canvas, event) {
  const box = canvas.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
}
