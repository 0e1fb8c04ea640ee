// Faults of the figures that are drawn: texts that reach out of their figure or lie on another text, and buttons that
// lie on a text, a mark or a cell. The names of slanted ticks stand side by side although their boxes overlap.
() => {
  const box = (node) => node.getBoundingClientRect();
  const share = (a, b) => [
    Math.min(a.right, b.right) - Math.max(a.left, b.left),
    Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top),
  ];
  const touch = (a, b) => share(a, b).every((length) => length > 1.5);
  const isSeen = (node) => box(node).width > 0 && !node.closest(".hoverlayer") && getComputedStyle(node).opacity > 0;
  const isSlanted = (text) => /rotate\(-?(?!0[,)])(?!90[,)])\d/.test(text.getAttribute("transform") ?? "");
  const faults = [];
  for (const figure of document.querySelectorAll(".js-plotly-plot")) {
    const frame = box(figure);
    const texts = [...figure.querySelectorAll(".main-svg text")].filter((one) => one.textContent.trim() && isSeen(one));
    for (const text of texts) {
      const { left, right, top, bottom } = box(text);
      const isOut = left < frame.left - 1 || right > frame.right + 1 || top < frame.top - 1 || bottom > frame.bottom + 1;
      if (isOut) faults.push(`out: ${text.textContent}`);
    }
    const level = texts.filter((text) => !isSlanted(text));
    level.forEach((one, place) => {
      for (const other of level.slice(place + 1)) {
        if (touch(box(one), box(other))) faults.push(`on each other: ${one.textContent} | ${other.textContent}`);
      }
    });
    for (const button of figure.querySelectorAll(".modebar-btn")) {
      for (const drawn of [...texts, ...figure.querySelectorAll(".point, .heatmaplayer image")]) {
        if (touch(box(button), box(drawn))) faults.push(`below a button: ${drawn.textContent || drawn.getAttribute("class")}`);
      }
    }
  }
  return faults;
};
