// Numbers as the pages write them.

// As `amount` of rauq/labels.py: "< 0.01" where a number above zero would read as nothing at all.
export function shown(value, places = 3) {
  if (Number.isNaN(value) || value === undefined) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const text = Math.abs(value).toFixed(places);
  if (value > 0 && Number(text) === 0) return `< ${(10 ** -places).toFixed(places)}`;
  return value < 0 && Number(text) !== 0 ? `−${text}` : text;
}

export function clamp(value, low, high) {
  return Math.min(Math.max(value, low), high);
}
