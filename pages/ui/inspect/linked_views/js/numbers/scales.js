// Scales and axes: which number is where on a canvas, and in which colour.

import { clamp, shown } from "../../../../shared/js/numbers.js";

const NARROW = 620; // pixels: below, names stand above the tracks instead of beside them
const LEAST_CELL = 12;
const TRACKS = [
  { name: "attention", weight: 1 },
  { name: "signal", weight: 0.85 },
  { name: "confidence", weight: 1.25 },
];

// The columns of an answer, which run from right to left where it does: where a token's column is, and which is where.
export function columnAxis({ direction }, area, cell, first = 0) {
  const end = area.x + area.width;
  const left = (token) => (direction === "rtl" ? end - (token - first + 1) * cell : area.x + (token - first) * cell);
  const tokenAt = (x) => first + Math.floor((direction === "rtl" ? end - x : x - area.x) / cell);
  return { left, middle: (token) => left(token) + cell / 2, tokenAt };
}

// Columns for an answer that is still being generated: the curve grows to the right, and is squeezed only now and then.
export function roomFor(count) {
  return Math.max(16, 2 ** Math.ceil(Math.log2(count)));
}

export function logRange(arrays) {
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
export function logTicks(low, high) {
  const powers = Array.from({ length: Math.ceil(high) - Math.floor(low) + 1 }, (_, index) => Math.floor(low) + index);
  const digits = high - low <= 2 ? [1, 2, 5] : [1];
  const every = Math.ceil((high - low) / 6) || 1;
  const ticks = powers.filter((power) => power % every === 0).flatMap((power) => digits.map((digit) => Number((digit * 10 ** power).toPrecision(1))));
  const inside = ticks.filter((tick) => Math.log10(tick) >= low && Math.log10(tick) <= high);
  return inside.length > 1 ? inside : [low, (low + high) / 2, high].map((end) => Number((10 ** end).toPrecision(2)));
}

export function stepOf(count, room, each) {
  return [1, 2, 4, 5, 8, 10, 20, 50].find((step) => (count / step) * each <= room) ?? 100;
}

// How weights from 0 to `top` are coloured, and labelled at a share of the scale.
export function weights(top, colours) {
  return { scale: colours.scale, share: (value) => value / top, label: (share) => shown(share * top, 2).replace(/0$/, "") };
}

// How areas under the curve are coloured: as far from 0.5 as the strongest head, either way.
export function areas(values, colours) {
  const reach = Math.max(0.1, ...values.map((value) => Math.abs(value - 0.5)));
  const low = 0.5 - Math.ceil(reach * 20) / 20;
  const span = 1 - 2 * low;
  return { scale: colours.diverging, share: (value) => (value - low) / span, label: (share) => shown(low + share * span, 2) };
}

// The columns that fit, and the first of them: all where they fit, else a window over a long answer.
export function columnsOf(canvas, data, view) {
  const narrow = canvas.clientWidth < NARROW;
  const left = narrow ? 34 : 172;
  const width = Math.max(0, canvas.clientWidth - left - 8);
  const longest = Math.max(data.tokens.length, data.other?.tokens?.length ?? 0);
  const count = data.live ? roomFor(longest) : longest;
  const shown = Math.max(1, Math.min(count, Math.floor(width / LEAST_CELL)));
  const first = clamp(view.first ?? 0, 0, count - shown);
  return { narrow, left, width, shown, first, cell: width / shown, all: count };
}

export function placed(top, foot, gap) {
  const weight = TRACKS.reduce((sum, track) => sum + track.weight, 0);
  const room = foot - top - gap * (TRACKS.length - 1);
  const places = {};
  for (const track of TRACKS) {
    const bottom = top + (room * track.weight) / weight;
    places[track.name] = [top, bottom];
    top = bottom + gap;
  }
  return places;
}

export const scaleEnd = (high) => shown(high, high < 1 ? 2 : 1).replace(/\.?0$/, "");
