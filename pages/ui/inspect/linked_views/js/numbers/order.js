// The order in which tokens are read on the screen, which in right-to-left text is not that from left to right.

const RIGHT_TO_LEFT = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Samaritan}\p{Script=Mandaic}\p{Script=Adlam}\u200f\u061c]/u;

// The direction of a text is that of its first letter, as the browser finds it for a paragraph.
export function directionOf(text) {
  const first = text.match(/[\p{L}\u200e\u200f\u061c]/u);
  return first && RIGHT_TO_LEFT.test(first[0]) ? "rtl" : "ltr";
}

// The direction of each token's paragraph; marks and end tokens are set apart from its text.
function directionsOf(tokens, seen) {
  const found = [];
  let paragraph = [];
  let text = "";
  for (const index of seen) {
    const { parts, quiet } = tokens[index];
    if (!quiet) text += parts.map(([part, mark]) => (mark ? "" : part)).join("");
    paragraph.push(index);
    const breaksLine = parts.some(([part, mark]) => mark && part.includes("↵"));
    if (!breaksLine && index !== seen.at(-1)) continue;
    for (const one of paragraph) found[one] = directionOf(text);
    [paragraph, text] = [[], ""];
  }
  return found;
}

// Some of the seen tokens line by line, each line along the direction of its paragraph, and the key that leads onwards.
export function readingOrder(buttons, tokens, seen, some = seen) {
  const directions = directionsOf(tokens, seen);
  const lines = [];
  for (const index of some) {
    const box = buttons[index].getClientRects()[0] ?? buttons[index].getBoundingClientRect();
    const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
    const line = lines.at(-1);
    if (line && Math.abs(line.y - y) < box.height / 2) line.tokens.push({ index, x });
    else lines.push({ y, rtl: directions[index] === "rtl", tokens: [{ index, x }] });
  }
  const order = lines.flatMap(({ rtl, tokens: all }) => all.sort((one, other) => (rtl ? other.x - one.x : one.x - other.x)));
  return { order: order.map(({ index }) => index), onwards: (index) => (directions[index] === "rtl" ? "ArrowLeft" : "ArrowRight") };
}
