// Keeps the key of this tab's job, or tells the one that it has kept.

import { latest } from "../js/latest.js";

const NAME = "rauq-job";

export default latest(keepOrTell);

function keepOrTell({ data, setStateValue }) {
  try {
    const stored = sessionStorage.getItem(NAME) ?? "";
    if (data.key) sessionStorage.setItem(NAME, data.key);
    else if (data.asked) sessionStorage.removeItem(NAME);
    else if (stored || data.others) setStateValue("key", stored);
  } catch {
    // This browser keeps nothing: a tab that is loaded again does not find its job.
  }
}
