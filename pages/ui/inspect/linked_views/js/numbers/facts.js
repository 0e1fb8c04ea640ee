// Heads and numbers in words.

import { shown } from "../../../../shared/js/numbers.js";
import { headCurves, otherCurve } from "./curves.js";
import { documentShare, hasShares, headOfShares } from "./shares.js";
import { mean } from "./statistics.js";

export const titled = (text) => text[0].toUpperCase() + text.slice(1);

function headName({ head, five }) {
  if (head < 0) return "mean of its heads";
  return five ? "mean of its top five heads" : `head ${head}`;
}

export function shownHead(data, { layer, head }) {
  const picked = data.picked.find((one) => one.layer === layer);
  return picked && (picked.head < 0 || picked.five) ? headName(picked) : `head ${head}`;
}

// The name of a number, with the layer and head that it is of.
function numbersOf(data, name) {
  return data.numbersOf ? `${name}, ${data.numbersOf}` : name;
}

export function factsOf(data, view, token) {
  const { attention, confidence } = headCurves(data, view);
  const facts = [["probability", shown(data.probability[token], 4)], ["entropy", `${shown(data.entropy[token])} nats`]];
  if (data.gaps) facts.push([`${data.weightName}, layer ${view.layer}, ${shownHead(data, view)}`, shown(token ? attention[token - 1] : NaN)]);
  if (hasShares(data)) facts.push([`attention on the document, ${headOfShares(data, view)}`, shown(documentShare(data, view, token))]);
  facts.push([`confidence c, layer ${view.layer}, ${shownHead(data, view)}`, shown(confidence?.[token])]);
  facts.push([numbersOf(data, data.measure.name), `${shown(data.collapse[token])} nats`]);
  if (data.measure.name === "surprisal") return facts;
  facts.push([`from ${data.signalName}, ${data.weightName}`, [0, 1].map((part) => shown(data.shares[2 * token + part])).join(", ")]);
  facts.push([numbersOf(data, "contribution"), shown(data.contribution[token])]);
  return facts;
}

export function shortFacts(data, view, token) {
  const { attention, confidence } = headCurves(data, view);
  const weight = token ? attention[token - 1] : NaN;
  const usual = mean(attention);
  const beside = Number.isFinite(weight) ? (weight < usual ? ` (below its mean, ${shown(usual, 2)})` : ` (no drop: its mean is ${shown(usual, 2)})`) : "";
  return `p ${shown(data.probability[token], 2)} · entropy ${shown(data.entropy[token], 2)} nats · ${data.weightName} ${shown(weight, 2)}${beside} · confidence ${shown(confidence?.[token], 2)}`;
}

// The token of the continuation in the same column, with its confidence in the shown layer.
export function otherFacts(data, view, token) {
  const curve = otherCurve(data, view);
  if (!curve || token < data.other.from || data.other.tokens[token] === undefined) return "";
  return ` · continuation: “${data.other.tokens[token]}”, confidence ${shown(curve.values[token], 2)}`;
}

// What the reference says of the heads that RAUQ selects: selection goes by attention, and not by what separates.
export function aboutSelected({ picked, layers, numHeads, judged }) {
  const { auc, chance } = judged.heads;
  const own = picked.filter(({ head, five }) => head >= 0 && !five);
  const reversed = own.filter(({ row, head }) => auc[row * numHeads + head] < 0.5 - chance).map(({ layer }) => layer);
  const best = auc.indexOf(Math.max(...auc));
  const [row, head] = [Math.floor(best / numHeads), best % numHeads];
  const isSelected = own.some((one) => one.row === row && one.head === head);
  const less = reversed.length ? `${reversed.length} of the ${own.length} selected heads attend${reversed.length === 1 ? "s" : ""} less in correct answers (layer${reversed.length === 1 ? "" : "s"} ${reversed.join(", ")}). ` : "";
  return `${less}The head that separates best, layer ${layers[row]} head ${head} (${shown(auc[best], 2)}), is ${isSelected ? "" : "not "}selected.`;
}
