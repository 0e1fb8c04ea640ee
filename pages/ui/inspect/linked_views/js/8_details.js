// One token in full, one cell in a line, and the table of selected heads.

function headName({ head, five }) {
  if (head < 0) return "mean of its heads";
  return five ? "mean of its top five heads" : `head ${head}`;
}

function factsOf(data, view, token) {
  const { attention, confidence } = headCurves(data, view);
  const facts = [["probability", shown(data.probability[token], 4)], ["entropy", `${shown(data.entropy[token])} nats`]];
  if (data.gaps) facts.push([`${data.weightName}, layer ${view.layer}, ${shownHead(data, view)}`, shown(token ? attention[token - 1] : NaN)]);
  facts.push([`confidence c, layer ${view.layer}, ${shownHead(data, view)}`, shown(confidence?.[token])]);
  facts.push([numbersOf(data, data.measure.name), `${shown(data.collapse[token])} nats`]);
  if (data.measure.name === "surprisal") return facts;
  facts.push([`from ${data.signalName}, ${data.weightName}`, [0, 1].map((part) => shown(data.shares[2 * token + part])).join(", ")]);
  facts.push([numbersOf(data, "contribution"), shown(data.contribution[token])]);
  return facts;
}

// The name of a number, with the layer and head that it is of.
function numbersOf(data, name) {
  return data.numbersOf ? `${name}, ${data.numbersOf}` : name;
}

function shownHead(data, { layer, head }) {
  const picked = data.picked.find((one) => one.layer === layer);
  return picked && (picked.head < 0 || picked.five) ? headName(picked) : `head ${head}`;
}

function shortFacts(data, view, token) {
  const { attention, confidence } = headCurves(data, view);
  const weight = token ? attention[token - 1] : NaN;
  const usual = mean(attention);
  const beside = Number.isFinite(weight) ? (weight < usual ? ` (below its mean, ${shown(usual, 2)})` : ` (no drop: its mean is ${shown(usual, 2)})`) : "";
  return `p ${shown(data.probability[token], 2)} · entropy ${shown(data.entropy[token], 2)} nats · ${data.weightName} ${shown(weight, 2)}${beside} · confidence ${shown(confidence?.[token], 2)}`;
}

// The token of the continuation in the same column, with its confidence in the shown layer.
function otherFacts(data, view, token) {
  const curve = otherCurve(data, view);
  if (!curve || token < data.other.from || data.other.tokens[token] === undefined) return "";
  return ` · continuation: “${data.other.tokens[token]}”, confidence ${shown(curve.values[token], 2)}`;
}

function tokenTip(tip, data, view, token, anchor) {
  const notes = [`token ${token}`];
  if (data.tokens[token].bytes) notes.push(`bytes ${data.tokens[token].bytes}, a part of the character`);
  if (token === data.collapseAt) notes.push(`largest ${data.measure.name}`);
  if (view.wrong.includes(token)) notes.push("marked as incorrect");
  const rows = factsOf(data, view, token).map(([name, value]) => {
    const row = make("div", "row");
    row.append(make("span", "", name), make("span", "", value));
    return row;
  });
  const heading = make("div", "heading", "Most probable tokens");
  const alternatives = data.tokens[token].alternatives.map(alternative);
  showTip(tip, [make("div", "title", data.tokens[token].label), make("div", "subtitle", notes.join(", ")), ...rows, heading, ...alternatives], anchor);
}

function alternative([text, share, chosen]) {
  const row = make("div", chosen ? "alternative chosen" : "alternative");
  const track = make("span");
  const bar = make("div", "bar");
  bar.style.setProperty("--share", share);
  track.append(bar);
  row.append(make("span", "text", chosen ? `${text} ✓` : text), track, make("span", "value", shown(share)));
  return row;
}

function lineTip(tip, title, line, anchor) {
  showTip(tip, [make("div", "title", title), make("div", "subtitle", line)], anchor);
}

function showTip(tip, children, anchor) {
  tip.replaceChildren(...children);
  tip.showPopover();
  const gap = 8;
  const below = anchor.bottom + gap;
  const fits = below + tip.offsetHeight < window.innerHeight;
  tip.style.left = `${clamp(anchor.left, gap, window.innerWidth - tip.offsetWidth - gap)}px`;
  tip.style.top = `${fits ? below : Math.max(gap, anchor.top - tip.offsetHeight - gap)}px`;
}

// The heads of the columns, each with the name under which the list of words explains it.
function titlesOf({ weightName, judged }) {
  const area = judged?.heads ? [[["ROC-AUC"], "ROC-AUC"]] : [];
  return [[["layer"], "layer"], [["head"], "head"], [[`mean ${weightName}`], weightName], ...area, [["margin"], "margin of a head"], [["u", make("sub", "", "l")], "u_l"]];
}

function drawHeads(holder, data, act) {
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

function paintHeads(holder, data, view) {
  [...holder.querySelectorAll("tbody tr")].forEach((row, index) => {
    const { layer, head } = data.picked[index];
    row.setAttribute("aria-selected", String(layer === view.layer && Math.max(head, 0) === view.head));
  });
}
