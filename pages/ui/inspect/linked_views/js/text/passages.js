// The document of the prompt, passage by passage: each is tinted by its share of the attention of one answer token, and
// a press on it colours the answer by the share of this passage.

import { make } from "../../../../shared/js/dom.js";
import { clamp, shown } from "../../../../shared/js/numbers.js";
import { explain } from "../../../../shared/js/words.js";
import { documentShare, hasShares, headOfShares, otherShares, passageShares, sharesAlong, tintOf, topShare } from "../numbers/shares.js";
import { shortLabel } from "../numbers/tokens.js";
import { lineTip } from "./tips.js";

const nodesOf = (part) => [...part("document-text").querySelectorAll(".passage")];

// The token whose attention is shown: the selected one, else that of the headline; null for none.
const tokenShown = (data, view) => view.token ?? data.collapseAt ?? null;

// The same text stays as it is, with its focus and its place.
export function drawDocument(root, part, data) {
  const passages = data.document?.passages ?? [];
  root.classList.toggle("documented", passages.length > 0 && !data.empty);
  const box = part("document-text");
  const drawn = JSON.stringify(passages);
  if (box.drawn === drawn) return;
  box.drawn = drawn;
  const names = new Set(passages.map(({ of }) => of));
  part("document-title").textContent = names.size > 1 ? `${names.size} documents` : "Document";
  box.replaceChildren(...passages.flatMap(({ of, text }, place) => {
    const isFirst = place === 0 || passages[place - 1].of !== of;
    const node = make("span", "passage", isFirst ? text.trimStart() : text);
    node.dataset.passage = place;
    return isFirst && names.size > 1 ? [make("span", "document-name", of), node] : [node];
  }));
  box.scrollTop = 0;
}

export function paintDocument(part, data, view) {
  if (!data.document) return;
  const token = tokenShown(data, view);
  const known = hasShares(data) && token !== null;
  const shares = known ? passageShares(data, view, token) : [];
  const top = known ? topShare(data, view) : 1;
  for (const [place, node] of nodesOf(part).entries()) {
    node.style.setProperty("--level", known ? tintOf(shares[place], top) : 0);
    paintButton(node, place, shares[place], data, view);
  }
  part("document-heads").hidden = !hasShares(data);
  for (const button of part("document-heads").children) {
    button.setAttribute("aria-pressed", String((button.dataset.heads === "mean") === Boolean(view.averaged)));
    button.textContent = button.dataset.heads === "mean" ? "Mean of heads" : capital(data.document.head?.name ?? "");
  }
  part("document-scale").hidden = !known;
  part("document-top").textContent = known ? shown(top) : "";
  const facts = known ? factsOfDocument(data, view, token) : "";
  if (part("document-facts").textContent !== facts) part("document-facts").textContent = facts;
  explain(part("document-caption"), captionOfDocument(data, view, token), data.words);
}

const capital = (text) => text && text[0].toUpperCase() + text.slice(1);
const quoted = (data, token) => `“${shortLabel(data.tokens[token].label)}”`;

function paintButton(node, place, share, data, view) {
  if (!hasShares(data)) return void node.removeAttribute("role");
  node.setAttribute("role", "button");
  node.setAttribute("aria-pressed", String(view.passage === place));
  node.setAttribute("aria-description", `passage ${place}${share === undefined ? "" : `, share ${shown(share)}`}`);
  node.tabIndex = place === (view.passage ?? 0) ? 0 : -1;
}

function factsOfDocument(data, view, token) {
  const { firstToken, soFar, rest } = otherShares(data, view, token);
  return `${quoted(data, token)}: document ${shown(documentShare(data, view, token))}, first token ${shown(firstToken)}, answer so far ${shown(soFar)}, rest ${shown(rest)}`;
}

function captionOfDocument(data, view, token) {
  if (data.live) return "Shares of attention are shown once the answer is complete.";
  if (!hasShares(data)) return "Shares of attention were not captured.";
  const where = view.averaged ? `, ${headOfShares(data, view)}` : "";
  if (view.passage !== null) return `Tint of the answer: each token’s share of attention on the framed passage, by the query that predicts the token${where}. Press the passage again, or Escape, to go back.`;
  if (token === null) return "Select a token to see what it attends to.";
  return `Tint: share of the attention of the query that predicts ${quoted(data, token)}${where}. Longer passages get more; a high share is no proof of support. Press a passage to see which tokens attended to it.`;
}

// Scrolls the box alone, never the page, to the passage that a token attends to most.
export function revealPassage(part, data, view) {
  const token = tokenShown(data, view);
  if (!hasShares(data) || token === null || view.passage !== null) return;
  const shares = passageShares(data, view, token);
  const [box, node] = [part("document-text"), nodesOf(part)[shares.indexOf(Math.max(...shares))]];
  if (!node) return;
  const least = node.offsetTop + node.offsetHeight - box.clientHeight;
  box.scrollTop = clamp(box.scrollTop, Math.min(least, node.offsetTop), node.offsetTop);
}

export function passageTip(tip, data, view, place, node) {
  const token = tokenShown(data, view);
  const said = [];
  if (token !== null) said.push(`share ${shown(passageShares(data, view, token)[place], 4)} of the attention that predicts token ${token} ${quoted(data, token)}`);
  const along = sharesAlong(data, view, place);
  said.push(`mean over the answer ${shown(along.reduce((sum, share) => sum + share, 0) / along.length, 4)}`, headOfShares(data, view));
  lineTip(tip, `passage ${place}`, said.join(", "), node.getClientRects()[0] ?? node.getBoundingClientRect());
}

// The passage that a key leads to from a passage; undefined where it leads to none.
export function besidePassage(part, node, key) {
  const nodes = nodesOf(part);
  const at = nodes.indexOf(node);
  const target = { ArrowUp: at - 1, ArrowDown: at + 1, Home: 0, End: nodes.length - 1 }[key];
  return target === undefined ? undefined : nodes[clamp(target, 0, nodes.length - 1)];
}
