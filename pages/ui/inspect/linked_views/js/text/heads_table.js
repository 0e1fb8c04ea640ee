// The table of selected heads.

import { make } from "../../../../shared/js/dom.js";
import { on } from "../../../../shared/js/events.js";
import { shown } from "../../../../shared/js/numbers.js";
import { explained } from "../../../../shared/js/words.js";

// The heads of the columns, each with the name under which the list of words explains it.
function titlesOf({ weightName, judged }) {
  const area = judged?.heads ? [[["ROC-AUC"], "ROC-AUC"]] : [];
  return [[["layer"], "layer"], [["head"], "head"], [[`mean ${weightName}`], weightName], ...area, [["margin"], "margin of a head"], [["u", make("sub", "", "l")], "u_l"]];
}

export function drawHeads(holder, data, act) {
  const table = make("table");
  const head = table.createTHead().insertRow();
  const known = data.judged?.heads;
  head.append(...titlesOf(data).map(([parts, name]) => {
    const title = make("th");
    title.append(...explained(parts, name, data.words));
    return title;
  }));
  const body = table.createTBody();
  data.picked.forEach((picked, index) => {
    const row = body.insertRow();
    row.className = picked.layer === data.scoreLayer ? "score-layer" : "";
    const named = picked.head < 0 ? "mean" : picked.five ? "top five" : String(picked.head);
    const [mean, margin, uncertainty] = [0, 1, 2].map((column) => shown(data.headNumbers[3 * index + column]));
    const area = known ? [picked.head < 0 || picked.five ? "–" : shown(known.auc[picked.row * data.numHeads + picked.head], 2)] : [];
    const cells = [picked.layer === data.scoreLayer ? `${picked.layer} (score)` : picked.layer, named, mean, ...area, margin, uncertainty];
    row.append(...cells.map((text) => make("td", "", String(text))));
    on(row, "click", () => act.select({ layer: picked.layer, head: Math.max(picked.head, 0) }));
  });
  holder.replaceChildren(table);
}

export function paintHeads(holder, data, view) {
  [...holder.querySelectorAll("tbody tr")].forEach((row, index) => {
    const { layer, head } = data.picked[index];
    row.setAttribute("aria-selected", String(layer === view.layer && Math.max(head, 0) === view.head));
  });
}
