// Which cell the keys lead to.

export const columnOf = (place) => Number(place.split("-")[1]);

// Left and right go along an answer as it stands on the screen, across its gaps; up and down switch between A and B.
export function neighbour(key, place, { columns, direction }, drawn) {
  const [lane, column] = place.split("-").map(Number);
  const own = columns.flatMap((tokens, index) => (tokens[lane] === null || drawn[index].hidden ? [] : [index]));
  const seen = inLines(own, drawn, direction === "rtl");
  const at = seen.indexOf(column);
  const [left, right] = direction === "rtl" ? [1, -1] : [-1, 1];
  const along = { ArrowRight: seen[at + right], ArrowLeft: seen[at + left], Home: own[0], End: own.at(-1) };
  if (key in along) return along[key] === undefined ? null : `${lane}-${along[key]}`;
  const other = { ArrowDown: 1, ArrowUp: 0 }[key];
  return other === undefined || other === lane || columns[column][other] === null ? null : `${other}-${column}`;
}

// Columns line by line, each line from where it begins.
function inLines(columns, drawn, fromRight) {
  const box = (column) => [drawn[column].offsetTop, drawn[column].offsetLeft * (fromRight ? -1 : 1)];
  const boxes = new Map(columns.map((column) => [column, box(column)]));
  return [...columns].sort((one, other) => boxes.get(one)[0] - boxes.get(other)[0] || boxes.get(one)[1] - boxes.get(other)[1]);
}

export function makeReachable(buttons, target) {
  for (const [place, button] of buttons) button.tabIndex = place === target ? 0 : -1;
}

// The tab key leads to the selected token, else to A's largest collapse.
export function firstStop(data, buttons) {
  const weak = data.columns.findIndex(([token]) => token !== null && data.sides[0].cells[token].collapse);
  const chosen = data.selected === null ? -1 : data.columns.findIndex(([token]) => token === data.selected);
  const seen = data.columns.findIndex((tokens, index) => tokens[0] !== null && !data.folds.some(([first, end]) => index >= first && index < end));
  const stop = `0-${chosen >= 0 ? chosen : weak >= 0 ? weak : Math.max(seen, 0)}`;
  return buttons.has(stop) ? stop : buttons.keys().next().value;
}
