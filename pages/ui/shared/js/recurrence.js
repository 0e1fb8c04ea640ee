// RAUQ's recurrence, for heads and values of alpha that Python has not scored.

// c_i = alpha s_i + (1 - alpha) a_i c_(i-1), from the first token that has a signal on (paper, equation 2). `weightOf(0)` is
// the attention of the second token to the first.
export function recurrence(signal, weightOf, alpha) {
  let before = NaN;
  return Array.from(signal, (value, token) => {
    if (!Number.isFinite(value)) return NaN;
    before = Number.isNaN(before) ? value : alpha * value + (1 - alpha) * weightOf(token - 1) * before;
    return before;
  });
}
