// What functions of the components' modules return: for each sentence the value, and the one that it must be.

import { columnOf, neighbour } from "../../pages/ui/compare/strips/js/moves.js";
import { palette } from "../../pages/ui/inspect/linked_views/js/charts/palette.js";
import { decoded } from "../../pages/ui/inspect/linked_views/js/numbers/arrays.js";
import { headCurves, otherCurve, usualWeight } from "../../pages/ui/inspect/linked_views/js/numbers/curves.js";
import { aboutSelected, factsOf, shownHead } from "../../pages/ui/inspect/linked_views/js/numbers/facts.js";
import { directionOf, readingOrder } from "../../pages/ui/inspect/linked_views/js/numbers/order.js";
import {
  areas, columnAxis, columnsOf, logRange, logTicks, placed, roomFor, scaleEnd, stepOf, weights,
} from "../../pages/ui/inspect/linked_views/js/numbers/scales.js";
import { isOpen, isReading, labelOf, sentenceOfTokens, sorted, standsFor, stepClass, strengths } from "../../pages/ui/inspect/linked_views/js/numbers/sentences.js";
import { largest, mean, nearest, roundedUp } from "../../pages/ui/inspect/linked_views/js/numbers/statistics.js";
import { firstStop, isHidden, meant, opensAt, remarks, shortLabel, weakName } from "../../pages/ui/inspect/linked_views/js/numbers/tokens.js";
import { drawText } from "../../pages/ui/inspect/linked_views/js/text/answer.js";
import { colouring, limitOf } from "../../pages/ui/inspect/linked_views/js/text/colouring.js";
import { columns, number } from "../../pages/ui/lesson/js/pictures.js";
import { scores } from "../../pages/ui/lesson/js/players.js";
import { make } from "../../pages/ui/shared/js/dom.js";
import { on } from "../../pages/ui/shared/js/events.js";
import { latest } from "../../pages/ui/shared/js/latest.js";
import { clamp, shown } from "../../pages/ui/shared/js/numbers.js";
import { recurrence } from "../../pages/ui/shared/js/recurrence.js";
import { factRows } from "../../pages/ui/shared/js/tip.js";
import { explain } from "../../pages/ui/shared/js/words.js";

const shared = {
  "a number has a minus sign, and none where it is rounded to zero": [[shown(-1.5, 1), shown(-0.0004), shown(2)], ["−1.5", "0.000", "2.000"]],
  "what is no number is written so": [[NaN, undefined, Infinity, -Infinity].map((value) => shown(value)), ["–", "–", "∞", "−∞"]],
  "a number is brought into a range": [[clamp(5, 0, 3), clamp(-1, 0, 3), clamp(2, 0, 3)], [3, 0, 2]],
  "confidence starts with the signal": [recurrence([0.5, 0.8], () => 0.25, 0.2), [0.5, 0.26]],
  "confidence starts where the signal does": [recurrence([NaN, 0.5, 0.8, NaN], (gap) => gap / 4, 0.2), [NaN, 0.5, 0.26, NaN]],
  "a text is no HTML": [make("b", "bold", "<i>").outerHTML, '<b class="bold">&lt;i&gt;</b>'],
  "facts stand in rows": [factRows([["p", "0.5"]])[0].outerHTML, '<div class="row"><span>p</span><span>0.5</span></div>'],
  "a handler takes the place of the one before": [clicked((node, hear) => { on(node, "click", hear(1)); on(node, "click focus", hear(2)); }), [2]],
  "what is older than what was drawn in its place is left out": [drawn([2, 1, 2, 3], document.body), [2, 2, 3]],
  "each place has a latest of its own": [[...drawn([5], make("i")), ...drawn([4], make("i"))], [5, 4]],
  "a word is marked once, and in the plural": [explained("Heads of a head: <b>"), ["", "[Heads]", " of a ", "head", ": <b>"]],
};

const scales = {
  "ticks are 1, 2, 5 of each power of ten": [logTicks(-1, 0), [0.1, 0.2, 0.5, 1]],
  "on a long scale ticks are some powers of ten": [logTicks(-8, 0), [1e-8, 1e-6, 1e-4, 1e-2, 1]],
  "on a short scale ticks are its ends and its middle": [logTicks(0.31, 0.34), [2, 2.1, 2.2]],
  "a log scale spans the positive numbers": [logRange([[0.1, NaN], [1, 0, Infinity]]), [-1.08, 0.08]],
  "a log scale without numbers is one power of ten": [logRange([[0, NaN]]), [-1, 0]],
  "an answer that grows has room for twice as many tokens at times": [[3, 17].map(roomFor), [16, 32]],
  "labels are thinned until they fit": [[stepOf(32, 100, 14), stepOf(3, 100, 14), stepOf(5000, 100, 14)], [5, 1, 100]],
  "the end of a scale has no zeros at its end": [[0.2, 0.25, 1, 10].map(scaleEnd), ["0.2", "0.25", "1", "10"]],
  "columns run from the left": [axisOf("ltr"), [20, 25, 1]],
  "columns of right-to-left text run from the right": [axisOf("rtl"), [10, 15, 2]],
  "a long answer shows the columns that fit": [
    columnsOf({ clientWidth: 600 }, { tokens: Array(100) }, { first: 90 }),
    { narrow: true, left: 34, width: 558, shown: 46, first: 54, cell: 558 / 46, all: 100 },
  ],
  "a short answer shows all columns": [
    columnsOf({ clientWidth: 900 }, { tokens: Array(3), live: true }, {}),
    { narrow: false, left: 172, width: 720, shown: 16, first: 0, cell: 45, all: 16 },
  ],
  "tracks share the height": [Object.values(placed(0, 330, 10)).flat(), [0, 100, 110, 195, 205, 330]],
  "weights are coloured from 0": [coloured(weights(2, { scale: [] }), 0.5), [0.25, "0.0", "2.0"]],
  "areas under the curve are coloured from the middle": [coloured(areas([0.5, 0.62], { diverging: [] }), 0.5), [0.5, "0.35", "0.65"]],
  "statistics leave out what is no number": [[largest([1, NaN, Infinity, 3]), mean([1, NaN, 3]), mean([NaN])], [3, 2, NaN]],
  "the nearest is the first of two": [[nearest([4, 8, 12], 9), nearest([4, 8], 6)], [8, 4]],
  "a scale ends at the next tenth": [[[0.31], [0.3], [NaN, 0]].map(roundedUp), [0.4, 0.3, 1]],
  "a palette follows the background": [paletteOf(), [false, 256, "rgb(255,255,255)", "rgb(16,32,48)"]],
};

const tokens = {
  "a long label is cut": [["abcdefghijkl", "abcdefghijk"].map(shortLabel), ["abcdefghij…", "abcdefghijk"]],
  "folded thinking is hidden": [[0, 1, 2, 3].map((token) => isHidden({ thinking: [1, 3] }, { folded: true }, token)), [false, true, true, false]],
  "open thinking is not": [isHidden({ thinking: [1, 3] }, { folded: false }, 1), false],
  "a long answer opens at its first weak point": [opensAt({ long: true, collapseAt: 5, weakPoints: [5, 2] }), 2],
  "a short answer opens at its largest collapse": [opensAt({ long: false, collapseAt: 5, weakPoints: [5, 2] }), 5],
  "the largest collapse and a word of the question are named": [
    [0, 1, 2].map((token) => remarks({ largestAt: 0, ofQuestion: [0, 1], measure: { name: "collapse" } }, token).join(", ")),
    ["largest collapse, a word of the question", "a word of the question", ""],
  ],
  "nothing is said of a token without a score": [remarks({}, 0), []],
  "a weak point is named by its place": [
    [4, 0, 2, 3].map((token) => weakName({ weakPoints: [4, 0, 2], ofQuestion: [4, 0, 3] }, token)),
    ["Weakest of 3 points, a word of the question", "Weak point 2 of 3, a word of the question", "Weak point 3 of 3", "Token 3"],
  ],
  "a single weak point is not counted": [weakName({ weakPoints: [4], ofQuestion: [] }, 4), "Weakest point"],
  "a character of two tokens is the one with the collapse": [
    [0, 2].map((token) => meant({ tokens: [{ shows: [0, 1] }, {}, { shows: [2] }], collapseAt: 1 }, token)),
    [1, 2],
  ],
  "keys start at the selected token, the collapse, or the first that is seen": [
    [
      firstStop([1, 1], {}, { token: 1 }),
      firstStop([1, 1], { collapseAt: 0 }, { token: null }),
      firstStop([1, 1], { collapseAt: null, thinking: [0, 1] }, { token: null, folded: true }),
    ],
    [1, 0, 1],
  ],
  "the first letter gives a text its direction": [["של", "12", "· سلام", "a ש"].map(directionOf), ["rtl", "ltr", "rtl", "ltr"]],
  "each line is read along its paragraph": [orderOf([["של"], ["ום", "↵"], ["ab"], ["cd"]]), [1, 0, 2, 3, "ArrowLeft", "ArrowRight"]],
  "lines of one paragraph are read alike": [orderOf([["של"], ["ום"], ["ab"], ["cd"]]), [1, 0, 3, 2, "ArrowLeft", "ArrowLeft"]],
  "tokens of a word stand together, up to 24 characters": [wordsOf(["Par", "is", " is", "x".repeat(23)]), ["Paris", "is", "x".repeat(23)]],
  "collapse is coloured by its scale": [colours("collapse"), ["Collapse", 0, 1 - Math.exp(-1), 0, 1 - Math.exp(-2), 0.5, 1.5, 3, 6]],
  "probability is coloured the other way round": [colours("probability"), ["Probability", 0, 0.75, 0.5, 1, 0.75, 0.5, 0.25, 0]],
  "contributions are coloured by the largest": [colours("contribution"), ["Part", 0, 0.25, 0, 1, 1, 2, 4]],
  "the strongest fifth is underlined": [limit({}).level, 1 - Math.exp(-2)],
  "what the reference says is underlined": [limit({ judged: { underline: 2, underlineNote: "Rare." } }), { level: 1 - Math.exp(-1), words: "Rare." }],
};

const READ = {
  tokens: ["a", "·Oslo", "c", "·", "e"].map((label) => ({ label })), sentenceAt: [-1, 0, 1, 1, 2],
  sentences: [{ tokens: [1, 2], weakest: 1, rank: 2 }, { tokens: [2, 4], weakest: null, rank: null }, { tokens: [4, 5], weakest: 4, rank: 1 }],
};

const sentences = {
  "each token is in one sentence, or in none": [[...sentenceOfTokens(READ)], [-1, 0, 1, 1, 2]],
  "the weakest token stands for a sentence, else its first": [READ.sentences.map(standsFor), [1, 2, 4]],
  "underlines go by rank, and without a rank there is none": [strengths([1, 4, 2, null, 2].map((rank) => ({ rank }))).map((step) => step ?? null), [3, 0, 2, null, 2]],
  "sentences that are all alike are not underlined": [strengths([1, 1].map((rank) => ({ rank }))).map((step) => step ?? null), [null, null]],
  "the underline is a class": [[3, undefined].map(stepClass), ["ranked step-3", ""]],
  "only tokens of the selected sentence are open, and those of none": [[0, 1, 2, 3, 4].map((token) => isOpen(READ, { sentence: 1 }, token)), [true, false, true, true, false]],
  "all tokens are open where they are asked for": [[isReading(READ, { byToken: true }), isOpen(READ, { byToken: true, sentence: 1 }, 1)], [false, true]],
  "a short answer does not read by sentences": [isReading({ sentences: [] }, {}), false],
  "sentences are sorted by a column, and those without a rank are last": [
    ["rank", "uncertainty", "place", "weakest"].flatMap((column) => [false, true].map((down) => sorted(READ, { column, down }).join(""))),
    ["201", "021", "021", "201", "012", "210", "120", "021"],
  ],
  "the label of a weakest token has no mark of a space": [[...READ.sentences.map((one) => labelOf(one, READ.tokens)), labelOf({ weakest: 3 }, READ.tokens)], ["Oslo", "", "e", "·"]],
};

const ANSWER = {
  layers: [4, 5], numHeads: 2, gaps: 1, tokens: [{ label: "a" }, { label: "b" }], alpha: 0.2, update: "rauq", sureSignal: 1,
  picked: [{ layer: 4, row: 0, head: 1, five: false }, { layer: 5, row: 1, head: -1, five: false }],
  signal: new Float32Array([0.5, 0.75]), attention: new Float32Array([0.25, 0.5, 0.125, 1]),
  pickedAttention: new Float32Array([0.5, 0.25]), confidence: new Float32Array([0.5, 0.375, 0.5, 0.25]),
  sure: new Float32Array([1, 0.625, 1, 0.5]), probability: [0.5, 0.004], entropy: [1, 2], collapse: [0, 0.5], numbersOf: "layer 4",
  measure: { name: "surprisal" }, weightName: "attention",
  judged: { heads: { inCorrect: [0.1, 0.2, 0.3, 0.4], auc: [0.9, 0.3, 0.5, 0.5], chance: 0.1 } },
};
const OTHER = { layers: [4], heads: [1], from: 2, tokens: ["a", "b", "c"], curve: new Float32Array([0.5, 0.25, 0.125]) };

const heads = {
  "curves of a selected head come with the score": [curvesOf({ layer: 4, head: 1 }), [0.5, 0.5, 0.375, 1, 0.625]],
  "curves of another head are computed": [curvesOf({ layer: 4, head: 0 }), [0.25, 0.5, 0.25, 1, 0.4]],
  "with another update they are not": [headCurves({ ...ANSWER, update: "product" }, { layer: 4, head: 0 }).confidence, null],
  "the weight in correct answers is of a single head": [
    [usualWeight(ANSWER, { layer: 4, head: 1 }), usualWeight(ANSWER, { layer: 5, head: 0 }) ?? null],
    [0.2, null],
  ],
  "a continuation is drawn from where it parts": [
    [...otherCurve({ ...ANSWER, scoreLayer: 4, other: OTHER }, { layer: 4, head: 1 }).values],
    [NaN, 0.25, 0.125],
  ],
  "a continuation is drawn for its own heads": [otherCurve({ ...ANSWER, scoreLayer: 5, other: OTHER }, { layer: 4, head: 0 }), null],
  "a mean of heads is named so": [[4, 5].map((layer) => shownHead(ANSWER, { layer, head: 0 })), ["head 0", "mean of its heads"]],
  "a small probability is not zero": [[0.0049, 0.005, 1, 0].map((p) => shown(p, 2)), ["< 0.01", "0.01", "1.00", "0.00"]],
  "facts of a token name layer and head": [
    factsOf(ANSWER, { layer: 4, head: 1 }, 1).flat(),
    [
      "probability", "0.0040", "entropy", "2.000 nats", "attention, layer 4, head 1", "0.500", "confidence c, layer 4, head 1", "0.375",
      "surprisal, layer 4", "0.500 nats",
    ],
  ],
  "the heads that RAUQ selects are compared with those that separate": [
    aboutSelected(ANSWER),
    "1 of the 1 selected heads attends less in correct answers (layer 4). The head that separates best, layer 4 head 0 (0.90), is not selected.",
  ],
};

const pair = {
  "keys go along an answer and across to the other": [
    [["ArrowRight", "0-0"], ["ArrowRight", "1-0"], ["End", "0-0"], ["ArrowDown", "0-0"]].map(([key, place]) => moved(key, place, "ltr")),
    ["0-1", "1-2", "0-3", "1-0"],
  ],
  "in right-to-left text the left key goes onwards": [moved("ArrowLeft", "0-1", "rtl"), "0-0"],
  "no key leads to a gap or out of the answer": [
    [["ArrowLeft", "0-0"], ["ArrowDown", "0-1"], ["ArrowUp", "0-0"], ["a", "0-0"]].map(([key, place]) => moved(key, place, "ltr")),
    [null, null, null, null],
  ],
  "a place names its column": [columnOf("1-12"), 12],
};

const lesson = {
  "numbers of pictures have two decimals": [[number(-0.001), number(-1), number(2, 1)], ["0.00", "−1.00", "2.0"]],
  "columns are as wide as their text needs": [
    (({ widths, at }) => [...widths, at(0), at(1)])(columns(["a", "bcdefghijkl"], 100, 300)),
    [70, 130, 135, 235],
  ],
  "every player is judged by the same tokens": [
    scores([{ invented: [1, 2], rauq: 2, probability: 0 }, { invented: [0], rauq: 1, probability: 0 }], [1, 1]),
    { you: 1, rauq: 1, probability: 1 },
  ],
};

// Pairs of what is returned and what must be; `arrived` are numbers as Python sends them.
export function cases(arrived) {
  const { attention, means, topMean, labels, sentenceAt } = decoded(arrived, null);
  const numbers = { "numbers of Python are read": [[...attention, ...means, topMean, ...labels, ...sentenceAt], [0, 1, 32767 / 65534, NaN, 0.25, NaN, 0.3, "abcdefghij…", 0]] };
  return { ...shared, ...scales, ...tokens, ...sentences, ...heads, ...pair, ...lesson, ...numbers };
}

function clicked(listen) {
  const node = document.createElement("button");
  const heard = [];
  listen(node, (what) => () => heard.push(what));
  node.click();
  return heard;
}

function drawn(sent, place) {
  const numbers = [];
  const draw = latest(({ data }) => numbers.push(data.sent));
  for (const number of sent) draw({ data: { sent: number }, parentElement: place });
  return numbers;
}

function explained(text) {
  const node = document.createElement("p");
  explain(node, text, [["head", "A part of a layer."]]);
  return [...node.childNodes].map((part) => (part instanceof HTMLElement ? `[${part.textContent}]` : part.textContent));
}

function axisOf(direction) {
  const { left, middle, tokenAt } = columnAxis({ direction }, { x: 0, width: 40 }, 10);
  return [left(2), middle(2), tokenAt(15)];
}

function coloured({ share, label }, value) {
  return [share(value), label(0), label(1)];
}

function paletteOf() {
  const { dark, scale } = palette(document.body, { light: ["#fff", "#102030"], dark: [] });
  return [dark, scale.length, scale[0], scale[255]];
}

// The order of four tokens in two lines of two, and the keys that lead onwards in the first and in the second.
function orderOf(texts) {
  const boxes = [[0, 0], [20, 0], [0, 30], [20, 30]].map(([left, top]) => ({ getClientRects: () => [{ left, top, width: 10, height: 10 }] }));
  const drawn = texts.map(([text, mark]) => ({ parts: [[text, false], ...(mark ? [[mark, true]] : [])] }));
  const { order, onwards } = readingOrder(boxes, drawn, [0, 1, 2, 3]);
  return [...order, onwards(0), onwards(2)];
}

function wordsOf(labels) {
  const strip = document.createElement("div");
  const drawn = labels.map((label) => ({ label, space: label.startsWith(" "), parts: [[label.trim(), false]] }));
  drawText(strip, { tokens: drawn, live: false }, {}, []);
  return [...strip.querySelectorAll(".word")].map((word) => word.textContent);
}

function scored() {
  return {
    measure: { name: "collapse", title: "Collapse", scale: 2 }, contributionTitle: "Part", collapse: new Float32Array([0, 2, NaN, 4]),
    probability: new Float32Array([1, 0.25, 0.5, 0]), contribution: new Float32Array([0, 1, -1, 4]), tokens: Array(4).fill({ quiet: false }),
  };
}

function colours(kind) {
  const { name, values, level, swatches } = colouring(scored(), { colouring: kind });
  return [name, ...Array.from(values, level), ...swatches];
}

function limit(given) {
  const data = { ...scored(), ...given };
  const view = { colouring: "collapse" };
  return limitOf(data, view, colouring(data, view));
}

function curvesOf(head) {
  const { attention, confidence, sure } = headCurves(ANSWER, head);
  return [...attention, ...confidence, ...sure];
}

// Of two answers of three tokens in four columns, the last of them in a second line.
function moved(key, place, direction) {
  const drawn = [0, 20, 40, 0].map((offsetLeft, column) => ({ offsetLeft, offsetTop: column === 3 ? 30 : 0, hidden: false }));
  return neighbour(key, place, { columns: [[0, 0], [1, null], [null, 1], [2, 2]], direction }, drawn);
}
