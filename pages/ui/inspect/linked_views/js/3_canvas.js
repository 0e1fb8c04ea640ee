// Shared by every canvas: sharp pixels, texts, and the token axis.

function prepare(canvas, colours) {
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

function write(context, text, x, y, { align = "left", baseline = "middle", colour, bold = false } = {}) {
  context.save();
  if (colour) context.fillStyle = colour;
  if (bold) context.font = `600 ${context.font}`;
  context.textAlign = align;
  context.textBaseline = baseline;
  context.direction = directionOf(`${text}`); // a leading space is drawn where the text begins
  context.fillText(text, x, y);
  context.restore();
}

function writeTurned(context, text, x, y, angle, align, colour) {
  context.save();
  context.translate(x, y);
  context.rotate(angle);
  write(context, text, 0, 0, { align, colour });
  context.restore();
}

// Token labels under an axis, tilted; evenly thinned where they would overlap. An axis without
// width, as on a hidden or very narrow canvas, gets none: a step of 0 or below would never reach the end.
function writeTokens(context, labels, xOf, y, width) {
  if (!(width > 0)) return;
  const step = Math.max(1, Math.ceil((labels.length * 17) / width));
  for (let index = 0; index < labels.length; index += step) {
    writeTurned(context, labels[index], xOf(index) + 3, y, -0.85, "right");
  }
}

// The columns of an answer, which run from right to left where it does: where a token's column is, and which is where.
function columnAxis({ direction }, area, cell, first = 0) {
  const end = area.x + area.width;
  const left = (token) => (direction === "rtl" ? end - (token - first + 1) * cell : area.x + (token - first) * cell);
  const tokenAt = (x) => first + Math.floor((direction === "rtl" ? end - x : x - area.x) / cell);
  return { left, middle: (token) => left(token) + cell / 2, tokenAt };
}

function tokenLabels(data) {
  return data.tokens.map(({ label }) => shortLabel(label));
}

const shortLabel = (label) => (label.length > 11 ? `${label.slice(0, 10)}…` : label);

function bandOf(context, x, width, top, bottom, colour, opacity) {
  context.save();
  context.globalAlpha = opacity;
  context.fillStyle = colour;
  context.fillRect(x, top, width, bottom - top);
  context.restore();
}

function frameOf(context, x, y, width, height, colour, line = 2, dash = []) {
  context.save();
  context.strokeStyle = colour;
  context.lineWidth = line;
  context.setLineDash(dash);
  context.strokeRect(x, y, width, height);
  context.restore();
}

function pointIn(canvas, event) {
  const box = canvas.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
}
