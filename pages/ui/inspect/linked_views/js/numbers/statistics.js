// Figures of lists of numbers, in which nan means undefined.

// Of the finite values; Math.max would take them as arguments, and there can be too many.
export function largest(values) {
  let most = -Infinity;
  for (const value of values) if (Number.isFinite(value) && value > most) most = value;
  return most;
}

export function nearest(allowed, asked) {
  return allowed.reduce((best, value) => (Math.abs(value - asked) < Math.abs(best - asked) ? value : best));
}

export function mean(values) {
  const finite = values.filter(Number.isFinite);
  return finite.length ? finite.reduce((sum, value) => sum + value, 0) / finite.length : NaN;
}

export function roundedUp(values) {
  let most = 0;
  for (const value of values) if (value > most) most = value;
  return most > 0 ? Math.ceil(most * 10 - 1e-6) / 10 : 1;
}
