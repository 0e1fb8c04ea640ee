// Selection, hover and the order of drawing. Python receives the selection and the marks after a pause.

const ARRAYS = [
  "means", "probability", "entropy", "signal", "collapse", "contribution", "shares", "confidence", "sure", "pickedAttention",
  "headNumbers",
];
const NOTHING = { layer: null, head: null, token: null, colour: null }; // is chosen while an answer is generated
const ARROWS = ["ArrowLeft", "ArrowRight"];
const mounted = new WeakMap();

export default function ({ data, parentElement, setStateValue, setTriggerValue }) {
  const root = parentElement.querySelector(".views");
  if (!mounted.has(root)) mounted.set(root, build(root));
  const stage = mounted.get(root);
  stage.tell = setStateValue;
  stage.ask = setTriggerValue;
  take(stage, data);
}

function build(root) {
  const part = (name) => root.querySelector(`.${name}`);
  const stage = { root, part, data: null, view: null, buttons: [], drawn: {} };
  // Everything in one report: of two reports under way, the later one must not undo the earlier one.
  stage.report = settle(() => stage.tell("view", { ...stage.chosen, wrong: stage.view.wrong, answer: stage.data.answer }), 120);
  // Never disconnected: Streamlit calls the clean-up of an interrupted run while the views are still there.
  new ResizeObserver(() => stage.data && root.isConnected && paint(stage)).observe(root);
  stage.act = actions(stage);
  wire(stage);
  return stage;
}

// Something for Python to do with this answer; what has the focus may be gone afterwards, so the views take it.
function tellOf(stage, name, event) {
  stage.root.focus({ preventScroll: true });
  stage.ask(name, { ...event, answer: stage.data.answer });
}

function actions(stage) {
  return {
    select: (change) => select(stage, change),
    fold: () => {
      stage.view.folded = !stage.view.folded;
      if (stage.view.token !== null && isHidden(stage.data, stage.view, stage.view.token)) select(stage, { token: null });
      paint(stage);
    },
    toggle: (token) => {
      if (!stage.data.live) select(stage, { token: stage.view.token === meant(stage.data, token) ? null : meant(stage.data, token) });
    },
    goOn: (token, choice) => tellOf(stage, "go_on", { token, choice }),
    judge: (said) => tellOf(stage, "judge", said),
    first: (token) => scrollTo(stage, token),
    mode: (name) => {
      stage.view.mode = name;
      paint(stage);
    },
    colour: (name) => {
      select(stage, { colour: name });
      drawLegend(stage.part("legend"), stage.data, stage.view, stage.act);
      stage.part("legend").querySelector("select").focus();
    },
    hover: (token, button) => stage.data.live || tokenTip(stage.part("tip"), stage.data, stage.view, meant(stage.data, token), button.getBoundingClientRect()),
    leave: () => stage.part("tip").hidePopover(),
  };
}

// A character of several tokens is drawn once: what is pointed at is the largest collapse where it is one of them.
function meant({ tokens, collapseAt }, token) {
  return tokens[token].shows.includes(collapseAt) ? collapseAt : token;
}

// Keys work wherever the focus is in the views: a click on a map or on blank space leaves it on their root.
function pressed(stage, event) {
  if (stage.data.live || event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select")) return;
  const own = stage.buttons.indexOf(event.target);
  const index = own >= 0 ? own : firstStop(stage.buttons, stage.data, stage.view);
  const seen = stage.buttons.flatMap((_, token) => (isHidden(stage.data, stage.view, token) ? [] : [token]));
  const target = ARROWS.includes(event.key) ? beside(stage, seen, index, event.key, own >= 0) : own >= 0 ? { Home: seen[0], End: seen.at(-1) }[event.key] : undefined;
  if (own >= 0 && [" ", "Enter"].includes(event.key)) {
    event.preventDefault();
    stage.act.toggle(own);
  } else if (target !== undefined) {
    event.preventDefault();
    select(stage, { token: target });
    if (own >= 0) stage.buttons[stage.view.token].focus(); // elsewhere the view that is looked at stays in sight
  } else if (event.key === "Escape") {
    if (stage.part("tip").matches(":popover-open")) stage.act.leave();
    else select(stage, { token: null });
  } else if (event.key === "w" || event.key === "W") {
    select(stage, { token: index });
    mark(stage);
  }
}

// The token that an arrow key leads to: in the text along its line, elsewhere along the columns.
function beside({ buttons, data }, seen, token, key, inText) {
  const columns = { order: seen, onwards: () => (data.direction === "rtl" ? "ArrowLeft" : "ArrowRight") };
  const { order, onwards } = inText ? readingOrder(buttons, data.tokens, seen) : columns;
  const step = key === onwards(token) ? 1 : -1;
  return order[clamp(order.indexOf(token) + step, 0, order.length - 1)];
}

// What the user chose stays, whatever the settings select; the rest follows the score.
function select(stage, change) {
  if (stage.data.live) return;
  Object.assign(stage.chosen, change);
  stage.act.leave();
  paint(stage);
  if (change.token !== undefined) revealToken(stage, change.token);
  stage.report();
}

function mark(stage) {
  const { view } = stage;
  if (view.token === null) return;
  const wrong = view.wrong.includes(view.token) ? view.wrong.filter((token) => token !== view.token) : [...view.wrong, view.token];
  view.wrong = wrong.sort((first, second) => first - second);
  paint(stage);
  stage.report();
}

function take(stage, data) {
  const { part } = stage;
  part("tip").hidePopover();
  const another = stage.data?.answer !== data.answer;
  const adopted = another || stage.data.serial !== data.serial; // a selection from outside, as by Back
  if (adopted) {
    stage.chosen = { ...NOTHING, ...data.selection };
    stage.view = { colouring: stage.chosen.colour ?? "collapse", wrong: data.wrong ?? [], mode: stage.view?.mode };
  }
  if (another || stage.view.folded === undefined) stage.view.folded = Boolean(data.folded);
  if (!data.folded) stage.view.folded = false;
  const held = stage.buttons.findIndex((button) => button.matches(":focus"));
  const grows = !another && data.live && data.tokens.length >= stage.buttons.length;
  stage.data = data.arrays ? decoded({ ...data }, stage.data) : { ...data, collapseAt: null };
  part("source").textContent = data.source ?? "";
  for (const name of ["headline", "detail", "note"]) explain(part(name), data[name] ?? "", data.words);
  part("to-learn").hidden = !data.isRecorded;
  stage.root.classList.toggle("live", data.live);
  if (data.live) part("offer").hidden = true;
  stage.root.classList.toggle("scored", Boolean(data.arrays));
  stage.root.classList.toggle("empty", Boolean(data.empty));
  if (another || data.live) stage.buttons = drawText(part("strip"), stage.data, stage.act, grows ? stage.buttons : []);
  drawLegend(part("legend"), stage.data, stage.view, stage.act);
  if (data.arrays) describe(stage, another);
  paint(stage);
  if (held >= 0 && !stage.buttons[held]?.matches(":focus")) stage.buttons[held]?.focus({ preventScroll: true });
  const shownToken = data.live ? stage.buttons.length - 1 : stage.view.token ?? opensAt(stage.data);
  if (another || adopted || data.live) revealToken(stage, shownToken);
}

// Brings a token into the scrolled text and into the window of the tracks.
function revealToken(stage, token) {
  if (token === null || token < 0) return;
  reveal(stage.part("strip"), stage.buttons[token]);
  stage.scrolledTo = stage.part("strip").scrollTop;
  const columns = stage.data.arrays && !stage.data.empty && columnsOf(stage.part("tracks"), stage.data, stage.view);
  if (!columns || (token >= columns.first && token < columns.first + columns.shown)) return;
  stage.view.first = Math.max(0, token - Math.floor(columns.shown / 3));
  paintTracks(stage);
}

// Moves the window of the tracks; the text follows.
function scrollTo(stage, token) {
  if (!stage.data.arrays || stage.data.empty || stage.data.live) return;
  const columns = columnsOf(stage.part("tracks"), stage.data, stage.view);
  stage.view.first = clamp(Math.round(token - columns.shown / 2), 0, columns.all - columns.shown);
  const word = stage.buttons[Math.min(stage.view.first, stage.buttons.length - 1)].parentNode;
  stage.part("strip").scrollTop = word.offsetTop;
  stage.scrolledTo = stage.part("strip").scrollTop;
  paintTracks(stage);
}

// The window of the tracks follows the text that the user scrolls.
function followScroll(stage) {
  const strip = stage.part("strip");
  if (!stage.data.arrays || stage.data.live || !strip.classList.contains("long")) return;
  if (Math.abs(strip.scrollTop - stage.scrolledTo) < 3) return; // our own doing
  stage.scrolledTo = strip.scrollTop;
  const { all, shown: many } = columnsOf(stage.part("tracks"), stage.data, stage.view);
  stage.view.first = Math.round((strip.scrollTop / Math.max(1, strip.scrollHeight - strip.clientHeight)) * (all - many));
  paintTracks(stage);
}

// The same answer scored again has the same weights: they are kept. One that is still being generated comes without.
function decoded(data, before) {
  for (const name of ARRAYS) data[name] = decode(data.arrays[name]);
  const same = before?.weights === data.weights;
  if (data.weights) data.attention = same ? before.attention : decodeWeights(data.weights);
  data.topMean = roundedUp(data.picked.flatMap(({ row }) => [...data.means.subarray(row * data.numHeads, (row + 1) * data.numHeads)]));
  if (data.other?.confidence) data.other = { ...data.other, curve: decode(data.other.confidence) };
  data.labels = tokenLabels(data);
  return data;
}

// What depends on the score and not on the selection.
function describe({ part, data, act }, another) {
  for (const [name, allowed] of [["layer-input", data.layers], ["head-input", [0, data.numHeads - 1]]]) {
    part(name).min = Math.min(...allowed);
    part(name).max = Math.max(...allowed);
  }
  explain(part("chart-caption"), data.captions.confidence, data.words);
  explain(part("token-caption"), data.captions.token, data.words);
  for (const node of part("panels").querySelectorAll("[data-explain]")) explain(node, node.textContent, data.words);
  part("modes").querySelector("[data-mode=attention]").textContent = data.weightName;
  for (const button of part("modes").children) on(button, "click", () => act.mode(button.dataset.mode));
  part("modes").querySelector("[data-mode=auc]").hidden = !data.judged?.heads;
  explain(part("auc-caption"), data.judged?.heads ? ` ${aboutSelected(data)}` : "", data.words);
  part("offer").hidden = !data.offer;
  part("offer").textContent = data.offer?.label ?? "";
  explain(part("heads-title"), data.scoreLayer === null ? "Selected heads" : `Selected heads; the score comes from layer ${data.scoreLayer}`, data.words);
  for (const panel of stageMaps(part)) panel.hidden = !data.gaps && !data.live;
  drawHeads(part("heads"), data, act);
  if (data.judged) drawJudged(part, data, act, another);
  drawOther(part, data);
}

// What the reference says of the heads that RAUQ selects: selection goes by attention, and not by what separates.
function aboutSelected({ picked, layers, numHeads, judged }) {
  const { auc, chance } = judged.heads;
  const own = picked.filter(({ head, five }) => head >= 0 && !five);
  const reversed = own.filter(({ row, head }) => auc[row * numHeads + head] < 0.5 - chance).map(({ layer }) => layer);
  const best = auc.indexOf(Math.max(...auc));
  const [row, head] = [Math.floor(best / numHeads), best % numHeads];
  const isSelected = own.some((one) => one.row === row && one.head === head);
  const less = reversed.length ? `${reversed.length} of the ${own.length} selected heads attend${reversed.length === 1 ? "s" : ""} less in correct answers (layer${reversed.length === 1 ? "" : "s"} ${reversed.join(", ")}). ` : "";
  return `${less}The head that separates best, layer ${layers[row]} head ${head} (${shown(auc[best], 2)}), is ${isSelected ? "" : "not "}selected.`;
}

function stageMaps(part) {
  return part("panels").querySelectorAll(".maps");
}

function current({ chosen, view, data }) {
  view.layer = chosen.layer ?? data.front?.layer ?? data.picked[0].layer;
  const picked = data.picked.find(({ layer }) => layer === view.layer)?.head ?? 0;
  view.head = chosen.head ?? Math.max(picked, 0);
  view.token = chosen.token;
  view.mode = view.mode === "auc" && !data.judged?.heads ? "attention" : (view.mode ?? "attention");
  view.colouring = chosen.colour ?? (data.collapseAt === null ? "probability" : "collapse");
  const asked = data.scoreLayer ?? view.layer;
  data.frontRow = Math.max(0, data.picked.findIndex(({ layer }) => layer === asked));
}

function paint(stage) {
  const { part, data, view, drawn } = stage;
  if (!data.arrays) return paintBare(stage);
  current(stage);
  if (view.token !== null && isHidden(data, view, view.token)) view.folded = false; // a chart or a link selected it
  const colours = palette(stage.root, data.scales);
  paintFold(part("strip"), stage.buttons, data, view);
  paintText(part("strip"), stage.buttons, data, view);
  drawWeak(part("weak"), data, view, stage.act);
  if (data.judged) drawHistogram(part("histogram"), data, colours);
  paintTokenBar(stage);
  part("overview").hidden ||= Boolean(data.empty);
  if (data.empty) return; // nothing was scored, so the panels are hidden
  part("layer-input").value = view.layer;
  part("head-input").value = view.head;
  paintMapWords(part, data, view);
  explain(part("token-title"), `Heads of layer ${view.layer}, token by token`, data.words);
  paintHeads(part("heads"), data, view);
  if (data.gaps) {
    drawn.layerHead = drawLayerHead(part("layer-head"), data, view, colours);
    if (data.attention) drawn.tokenHead = drawTokenHead(part("token-head"), data, view, colours);
  }
  drawn.confidence = drawConfidence(part("confidence"), data, view, colours);
  paintTracks(stage);
  name(part("layer-head"), `Previous-token ${data.weightName}, layer by head, ${part("map-sub").textContent}. Shown: layer ${view.layer}, head ${view.head}.`);
  name(part("token-head"), `${part("token-title").textContent}. Shown: head ${view.head}.`);
  name(part("confidence"), `Confidence along the answer in every layer used by RAUQ. ${data.headline}`);
}

// Which layer and head the tracks show, why, and the way to the layer that gives the score.
function paintShownHead(part, data, { layer, head }) {
  const picked = data.picked.find((one) => one.layer === layer);
  const isPicked = picked && (picked.head === head || picked.head < 0 || picked.five);
  const isScore = isPicked && data.scoreLayer === layer;
  const isBest = data.separates?.layer === layer && data.separates.head === head;
  const separates = `separates answers best (ROC-AUC ${shown(data.separates?.auc, 2)})`;
  const what = `Layer ${layer}, ${shownHead(data, { layer, head })}${isBest ? `, which ${separates}` : ""}`;
  const single = data.measure.name === "surprisal" ? "" : isScore ? (isBest ? " and gives the score" : ", which gives the score") : data.scoreLayer === null ? ". No single layer gives the score" : ": not the one that gives the score";
  explain(part("shown-what"), `${what}${single}`, data.words);
  part("show-score").hidden = data.live || isScore || (data.front.layer === layer && data.front.head === head);
  part("show-score").textContent = `Show layer ${data.front.layer}, ${shownHead(data, data.front)}${data.scoreLayer === null ? "" : ", which gives the score"}`;
  part("show-best").hidden = data.live || !data.separates || isBest;
  part("show-best").textContent = data.separates ? `Show layer ${data.separates.layer}, head ${data.separates.head}` : "";
  name(part("show-best"), `${part("show-best").textContent}, which ${separates}`);
  part("best-why").hidden = part("show-best").hidden;
  explain(part("best-why"), `, which ${separates}`, data.words);
}

// The tracks show the head under the pointer, if there is one, else the selected one.
function paintTracks(stage) {
  const { part, data, view, drawn } = stage;
  const colours = palette(stage.root, data.scales);
  const head = view.hovered ? { ...view, ...view.hovered } : view;
  const columns = columnsOf(part("tracks"), data, view);
  const scrolls = columns.shown < columns.all && !data.live;
  if (part("overview").hidden === scrolls) part("overview").hidden = !scrolls;
  drawn.tracks = drawTracks(part("tracks"), data, head, colours);
  if (scrolls) {
    drawn.overview = drawOverview(part("overview"), data, columns, colours);
    const last = columns.first + columns.shown - 1;
    name(part("overview"), `The whole answer. In the tracks: tokens ${columns.first} to ${last} of ${columns.all}.`);
  }
  const token = view.token ?? data.collapseAt;
  const { attention, confidence } = drawn.tracks.curves;
  const here = token === null ? "" : ` At token ${token}: ${data.weightName} ${shown(token ? attention[token - 1] : NaN)}, confidence ${shown(confidence?.[token])}.`;
  paintShownHead(part, data, head);
  name(part("tracks"), `${titled(data.weightName)} to the previous token, signal and confidence by token: layer ${head.layer}, head ${head.head}.${here}`);
}

const name = (canvas, text) => canvas.setAttribute("aria-label", text);

function paintMapWords(part, data, view) {
  const heads = view.mode === "auc" ? data.judged.heads : null;
  const where = view.token > 0 ? `at token ${view.token} only` : "mean over the answer";
  explain(part("map-sub"), heads ? heads.sub : where, data.words);
  explain(part("map-caption"), heads ? heads.caption : data.captions.map, data.words);
  for (const button of part("modes").children) button.setAttribute("aria-pressed", String(button.dataset.mode === view.mode));
}

function paintBare({ buttons, part }) {
  buttons.forEach((button) => button.setAttribute("aria-label", button.firstChild.textContent));
  part("token-facts").textContent = "";
  part("weak").replaceChildren();
  part("other").hidden = true;
  part("overview").hidden = true;
  for (const button of ["mark", "branch", "whole"]) part(button).hidden = true;
}

// Where the views begin: at the largest collapse, and in an answer that scrolls at its first weak point.
function opensAt({ long, collapseAt, weakPoints }) {
  return long && weakPoints?.length ? Math.min(...weakPoints) : collapseAt;
}

function paintTokenBar({ part, data, view }) {
  const selected = view.token !== null;
  const token = view.token ?? opensAt(data);
  const facts = data.live || token === null ? data.hint : `“${data.tokens[token].label}”: ${shortFacts(data, view, token)}`;
  if (part("token-facts").textContent !== facts) part("token-facts").textContent = facts;
  for (const button of ["mark", "branch", "whole"]) part(button).hidden = !selected;
  const marked = view.wrong.includes(view.token);
  part("mark").setAttribute("aria-pressed", String(marked));
  part("mark").textContent = marked ? "✗ Marked as incorrect" : "Mark as incorrect";
}

function wire(stage) {
  const { part } = stage;
  on(part("mark"), "click", () => mark(stage));
  on(part("branch"), "click", () => tellOf(stage, "branch", { token: stage.view.token }));
  on(part("show-score"), "click", () => select(stage, { layer: null, head: null }));
  on(part("show-best"), "click", () => select(stage, { layer: stage.data.separates.layer, head: stage.data.separates.head }));
  on(part("offer"), "click", () => tellOf(stage, "offer", {}));
  on(part("other-stop"), "click", () => tellOf(stage, "other_answer", { act: "stop" }));
  on(part("other-close"), "click", () => tellOf(stage, "other_answer", { act: "close" }));
  on(part("other-compare"), "click", () => tellOf(stage, "other_answer", { act: "compare" }));
  on(part("strip"), "scroll", () => followScroll(stage));
  onOverview(stage, part("overview"));
  on(part("whole"), "click", () => {
    select(stage, { token: null });
    stage.root.focus({ preventScroll: true }); // the button has hidden itself
  });
  on(stage.root, "keydown", (event) => pressed(stage, event));
  onNumber(stage, "layer-input", (asked) => ({ layer: nearest(stage.data.layers, asked) }));
  onNumber(stage, "head-input", (asked) => ({ layer: stage.view.layer, head: clamp(Math.round(asked), 0, stage.data.numHeads - 1) }));
  onCells(stage, part("layer-head"), {
    find: (point) => peek(stage, cellAt(stage.drawn.layerHead, point, stage.data.layers.length, stage.data.numHeads)),
    say: ({ row, column }) => [`layer ${stage.data.layers[row]} · head ${column}`, `${stage.drawn.layerHead.name} ${shown(stage.drawn.layerHead.weight(row, column))}`],
    choose: ({ row, column }) => ({ layer: stage.data.layers[row], head: column }),
  });
  onCells(stage, part("token-head"), {
    find: (point) => cellAt(stage.drawn.tokenHead, point, stage.data.numHeads, stage.data.tokens.length),
    say: ({ row, column }) => [`head ${row} · token ${column} “${stage.data.tokens[column].label}”`, `${stage.data.weightName} ${shown(stage.drawn.tokenHead.weight(row, column))}`],
    choose: ({ row, column }) => ({ layer: stage.view.layer, head: row, token: column }),
  });
  onColumns(stage, "tracks");
  onColumns(stage, "confidence");
}

function onColumns(stage, chart) {
  onCells(stage, stage.part(chart), {
    find: ([x]) => {
      const { axis, first = 0, count = stage.data.tokens.length } = stage.drawn[chart];
      const token = axis.tokenAt(x);
      return token >= first && token < first + count ? { column: token } : null;
    },
    say: ({ column }) => [`token ${column} “${stage.data.tokens[column].label}”`, shortFacts(stage.data, stage.view, column) + otherFacts(stage.data, stage.view, column)],
    choose: ({ column }) => ({ token: stage.view.token === column ? null : column }),
  });
}

// A press or a drag over the overview moves the window.
function onOverview(stage, canvas) {
  const move = (event) => {
    if (event.buttons & 1) stage.act.first(stage.drawn.overview.axis.tokenAt(pointIn(canvas, event)[0]));
  };
  on(canvas, "pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    move(event);
  });
  on(canvas, "pointermove", move);
}

// An emptied field changes nothing: the selection stays and is written back into it.
function onNumber(stage, name, change) {
  on(stage.part(name), "change", ({ target }) => select(stage, target.value === "" ? {} : change(Number(target.value))));
}

// The tracks show the head under the pointer, until it leaves the map or a click keeps it.
function peek(stage, cell) {
  const hovered = cell && { layer: stage.data.layers[cell.row], head: cell.column };
  if (JSON.stringify(hovered) !== JSON.stringify(stage.view.hovered ?? null)) {
    stage.view.hovered = hovered;
    paintTracks(stage);
  }
  return cell;
}

function onCells(stage, canvas, { find, say, choose }) {
  on(canvas, "mousemove", (event) => {
    const cell = stage.data.live ? null : find(pointIn(canvas, event));
    canvas.style.cursor = cell ? "pointer" : "default";
    if (!cell) return stage.act.leave();
    const near = { left: event.clientX + 12, top: event.clientY - 8, bottom: event.clientY + 14 };
    lineTip(stage.part("tip"), ...say(cell), near);
  });
  on(canvas, "mouseleave", () => {
    stage.act.leave();
    if (stage.view?.hovered) peek(stage, null);
  });
  on(canvas, "click", (event) => {
    const cell = stage.data.live ? null : find(pointIn(canvas, event));
    if (cell) select(stage, choose(cell));
  });
}
