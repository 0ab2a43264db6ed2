// Icons are drawn, 16 to a side, in the colour of the text around them. Their meaning is always said in words as well.

import { svg } from "./dom.js";

const stroke = { fill: "none", stroke: "currentColor", "stroke-width": "1.75", "stroke-linecap": "round", "stroke-linejoin": "round" };
const line = (d) => ["path", { d, ...stroke }];
const solid = (d) => ["path", { d, fill: "currentColor" }];

const shapes = {
  // standings, each of another outline
  surging: [solid("M1 13.5C4 13.5 5 3 9.5 3c3 0 4.3 2 5 4.2-1.4-1-3.3-.8-3.9.8-.7 1.9 1 3.7 4.4 3.9v1.6z")],
  throttled: [line("M5.3 2h5.4L14 5.3v5.4L10.7 14H5.3L2 10.7V5.3z"), line("M5 8h6")],
  waiting: [line("M4 2h8M4 14h8M5 2v2.6L8 8l3-3.4V2M5 14v-2.6L8 8l3 3.4V14")],
  excess: [line("M8 13.5V4M3.8 7.8 8 3.6l4.2 4.2M3 1.2h10")],
  paused: [solid("M4 3h2.6v10H4zM9.4 3H12v10H9.4z")],
  calm: [line("M2 9.5c2 0 2-2 4-2s2 2 4 2 2-2 4-2")],
  // signs
  good: [line("M3 8.5 6.5 12 13 4.5")],
  bad: [line("M4 4l8 8M12 4l-8 8")],
  warn: [line("M8 2 1.8 13.5h12.4zM8 6.5v3.2M8 11.6v.1")],
  info: [line("M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 7.4V11M8 5v.1")],
  old: [line("M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 4.5V8l2.5 1.6")],
  // things to do
  search: [line("M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zM10.7 10.7 14 14")],
  menu: [line("M2 4h12M2 8h12M2 12h12")],
  help: [line("M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM6.2 6.2C6.4 5 7.1 4.6 8 4.6c1 0 1.8.7 1.8 1.6C9.8 7.5 8 7.6 8 9M8 11.2v.1")],
  light: [line("M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM8 1v1.4M8 13.6V15M1 8h1.4M13.6 8H15M3 3l1 1M12 12l1 1M3 13l1-1M12 4l1-1")],
  dark: [line("M13.5 9.8A6 6 0 0 1 6.2 2.5a6 6 0 1 0 7.3 7.3z")],
  system: [line("M2 3h12v8H2zM6 14h4M8 11v3")],
};

// icon is one of the shapes, hidden from those who listen: the words beside it say the same.
export function icon(name, attrs) {
  return svg(
    "svg",
    { class: "icon", viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true", focusable: "false", ...attrs },
    (shapes[name] ?? []).map(([tag, a]) => svg(tag, a)),
  );
}

// wave is the mark of the house.
export function wave() {
  return svg(
    "svg",
    { class: "mark", viewBox: "0 0 32 22", width: 32, height: 22, "aria-hidden": "true", focusable: "false" },
    svg("path", { class: "mark-crest", d: "M2 8c4.7 0 4.7-5 9.3-5S16 8 20.7 8 25.3 3 30 3" }),
    svg("path", { class: "mark-water", d: "M2 15c4.7 0 4.7-5 9.3-5s4.7 5 9.4 5S25.300 10 30 10v9H2z" }),
  );
}
