// The charts along the answer that stand beside the maps, each in a panel of its own: one row each.
//
// `draw` takes a canvas with data, view and colours, and returns the axis by which the pointer finds its token.
// `caption` gives the text below the canvas, and `spoken` what is read out in place of the picture.

import { make } from "../../../../shared/js/dom.js";
import { drawConfidence } from "./all_layers.js";

export const ALONG = [
  {
    name: "confidence",
    title: "Confidence in every layer used by RAUQ",
    draw: drawConfidence,
    caption: (data) => data.captions.confidence,
    spoken: (data) => `Confidence along the answer in every layer used by RAUQ. ${data.headline}`,
  },
];

export function addPanels(box) {
  box.replaceChildren(...ALONG.map(panelOf));
}

function panelOf({ name, title }) {
  const heading = make("h2", "", title);
  heading.dataset.explain = "";
  const header = make("header");
  header.append(heading);
  const canvas = make("canvas", `along ${name}`);
  canvas.setAttribute("role", "img");
  const panel = make("section", "panel");
  panel.append(header, canvas, make("p", `caption ${name}-caption`));
  return panel;
}
