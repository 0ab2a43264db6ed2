// When surges were on, as bars over time: one lane for each caller's semantic.
import { h, svg } from "../dom.js";
import { minute, moment } from "../format.js";

const lane = 22;
const top = 22;
const left = 150;
const most = 12; // lanes; the table below has them all

// timeline draws surges between now - span and now. It is redrawn by draw.
export function timeline(app) {
  const node = h("div", { class: "p-timeline" });
  const self = {
    node,
    draw(surges, span, now) {
      const width = Math.max(280, node.clientWidth || 800);
      const from = now - span;
      const shown = surges.filter((s) => (s.end ? new Date(s.end) : now) >= from);
      const lanes = [...Map.groupBy(shown, (s) => `${s.caller} / ${s.semantic}`)].slice(0, most);
      const gutter = width < 560 ? 0 : left;
      const x = (time) => gutter + ((Math.max(from, time) - from) / span) * (width - gutter - 1);
      const rise = gutter ? lane : lane + 12;
      const height = top + Math.max(1, lanes.length) * rise + 4;
      const image = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img" });
      image.append(svg("title", null, app.t("p.timeline.label", { n: shown.length })));
      for (const tick of ticks(from, now, span, width - gutter)) {
        image.append(svg("line", { x1: x(tick), x2: x(tick), y1: top - 6, y2: height, class: "p-tick" }),
          svg("text", { x: x(tick) + 3, y: 12, class: "p-tick-text" }, minute(tick)));
      }
      lanes.forEach(([name, list], i) => {
        const y = top + i * rise;
        image.append(svg("text", { x: 0, y: gutter ? y + 14 : y + 10, class: "p-lane" }, gutter ? clip(name, 22) : clip(name, 40)));
        for (const s of list) {
          const begin = x(+new Date(s.start));
          const end = s.end ? x(+new Date(s.end)) : x(now);
          image.append(svg("rect", {
            x: begin, y: gutter ? y + 3 : y + 14, width: Math.max(3, end - begin), height: 14, rx: 3, class: s.end ? "p-surge-over" : "p-surge-on",
          }, svg("title", null, `${name} ${moment(s.start)} – ${s.end ? moment(s.end) : app.t("p.surges.still")}`)));
        }
      });
      node.replaceChildren(image);
    },
  };
  return self;
}

// ticks are round moments, at most one for each 90 pixels.
function ticks(from, now, span, width) {
  const steps = [60, 300, 900, 1800, 3600, 10_800, 21_600, 86_400].map((s) => s * 1000);
  const step = steps.find((s) => span / s <= Math.max(2, width / 90)) ?? steps.at(-1);
  const shift = new Date(from).getTimezoneOffset() * 60_000;
  const list = [];
  for (let at = Math.ceil((from - shift) / step) * step + shift; at < now; at += step) list.push(at);
  return list;
}

function clip(text, length) {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text;
}
