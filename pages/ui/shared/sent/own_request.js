// Keeps what this tab asked its latest answers for, or tells what it has kept for one.

import { latest } from "../js/latest.js";

const NAME = "rauq-requests", MOST = 20;

export default latest(keepOrTell);

function keepOrTell({ data, setStateValue }) {
  try {
    const kept = new Map(JSON.parse(sessionStorage.getItem(NAME) ?? "[]"));
    if (data.asked) {
      kept.delete(data.answer);
      kept.set(data.answer, data.asked);
      sessionStorage.setItem(NAME, JSON.stringify([...kept].slice(-MOST)));
    } else if (kept.has(data.answer)) setStateValue("told", { asked: kept.get(data.answer) });
  } catch {
    // This browser keeps nothing, or has no room.
  }
}
