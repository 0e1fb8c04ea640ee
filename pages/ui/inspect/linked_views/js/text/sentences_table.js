// The table of sentences: what it sorts by is chosen at its head, and a row selects its sentence.

import { make } from "../../../../shared/js/dom.js";
import { on } from "../../../../shared/js/events.js";
import { clamp } from "../../../../shared/js/numbers.js";
import { explain, explained } from "../../../../shared/js/words.js";
import { isReading, labelOf, sorted, stepClass, strengths } from "../numbers/sentences.js";

// The heads of the columns, and what each sorts by.
function columnsOfTable({ sentenceScore }) {
  return [["rank", "rank"], ["sentence", "place"], ["weakest token", "weakest"], [`${sentenceScore.name}, nats`, "uncertainty"]];
}

export function drawSentences(part, data, view, act) {
  const isShown = data.reads && !data.empty;
  part("sentences").hidden = !isShown;
  const table = make("table");
  if (isShown) {
    explain(part("sentences-title"), `${data.sentences.length} sentence${data.sentences.length === 1 ? "" : "s"}`, data.words);
    explain(part("sentences-caption"), captionOf(data), data.words);
    fill(table, data, view, act);
  }
  part("sentences-table").replaceChildren(table);
}

function captionOf({ sentences, sentenceScore }) {
  const unknown = sentences.filter(({ rank }) => rank === null);
  const why = [...new Set(unknown.map(({ reason }) => reason))].join("; ");
  return `${sentenceScore.about}${unknown.length ? ` ${unknown.length} without a rank: ${why}.` : ""}`;
}

function fill(table, data, view, act) {
  table.setAttribute("role", "grid");
  table.setAttribute("aria-label", "Sentences by uncertainty");
  const head = table.createTHead().insertRow();
  for (const [name, column] of columnsOfTable(data)) {
    const title = make("th");
    const isSorted = view.sort.column === column;
    title.setAttribute("aria-sort", isSorted ? (view.sort.down ? "descending" : "ascending") : "none");
    const button = make("button");
    button.type = "button";
    button.dataset.column = column;
    button.append(...explained([name], name.split(",")[0], data.words));
    on(button, "click", () => act.sort({ column, down: isSorted && !view.sort.down }));
    title.append(button);
    head.append(title);
  }
  const body = table.createTBody();
  const steps = strengths(data.sentences);
  for (const place of sorted(data, view.sort)) body.append(rowOf(data, place, steps[place], act));
}

function rowOf(data, place, step, act) {
  const { text, uncertainty, rank, reason } = data.sentences[place];
  const row = make("tr");
  row.dataset.place = place;
  row.title = reason;
  const [ranked, said, weakest] = [make("span", stepClass(step), rank === null ? "–" : String(rank)), make("span", "said", text), labelOf(data.sentences[place], data.tokens)];
  row.append(...[ranked, said, weakest || "–", uncertainty].map((shown) => {
    const cell = make("td");
    cell.append(shown);
    return cell;
  }));
  on(row, "click", () => act.sentence(place));
  return row;
}

export function paintSentences(part, data, view) {
  for (const button of part("reads-as").children) button.setAttribute("aria-pressed", String((button.dataset.as === "sentences") === isReading(data, view)));
  const rows = [...part("sentences-table").querySelectorAll("tbody tr")];
  const stop = rows.find((row) => Number(row.dataset.place) === view.sentence) ?? rows[0];
  for (const row of rows) {
    row.setAttribute("aria-selected", String(Number(row.dataset.place) === view.sentence));
    row.tabIndex = row === stop ? 0 : -1;
  }
}

// Scrolls the table alone, never the page.
export function revealRow(part, place) {
  const box = part("sentences-table");
  const row = box.querySelector(`tr[data-place="${place}"]`);
  if (!row) return;
  const least = row.offsetTop + row.offsetHeight - box.clientHeight;
  const most = row.offsetTop - box.querySelector("thead").offsetHeight;
  box.scrollTop = clamp(box.scrollTop, least, Math.max(least, most));
}

// The row that a key leads to from a row of the table.
export function besideRow(row, key) {
  const rows = [...row.parentNode.rows];
  const at = rows.indexOf(row);
  const target = { ArrowUp: at - 1, ArrowDown: at + 1, Home: 0, End: rows.length - 1, Enter: at, " ": at }[key];
  return target === undefined ? undefined : rows[clamp(target, 0, rows.length - 1)];
}
