// One row of the list of callers, and the row of heads above. A row is built once and then shows caller after caller.

import { sparkline } from "./chart.js";
import { fill, h, setAttr, setStyle, setText } from "./dom.js";
import { count, percent, rate } from "./format.js";
import { t } from "./i18n.js";
import { icon } from "./icons.js";

const BARS = 4; // semantics that have a bar; the rest is a number
const MINUTE = 60; // values of the small curve
const columns = [
  ["standing", "attention"],
  ["caller", "caller"],
  ["quota", "occupancy"],
  ["rate", "rate"],
  ["in_flight", "in_flight"],
  ["waiting", "waiting"],
  ["refused", "refused"],
];
const numbers = new Set(["in_flight", "waiting", "refused"]);

// header is the row of heads; each sorts by what its column shows.
export function header(onSort) {
  const cells = columns.map(([name, sort], i) => {
    const head = h("button", { type: "button", class: "bare", onclick: () => onSort(sort) }, t(`column.${name}`));
    return { sort, el: h("div", { role: "columnheader", "aria-colindex": i + 1, class: numbers.has(name) ? "num" : null }, head) };
  });
  return {
    el: h("div", { role: "rowgroup", class: "heads" }, h("div", { role: "row", class: "row", "aria-rowindex": 1 }, cells.map((c) => c.el))),
    sorted(sort) {
      for (const c of cells) setAttr(c.el, "aria-sort", c.sort !== sort ? null : sort === "caller" ? "ascending" : "descending");
    },
  };
}

export function callerRow(number, app) {
  const standing = h("span", { class: "standing" });
  const name = h("a", { tabindex: -1 });
  const meta = h("small");
  const bars = Array.from({ length: BARS }, bar);
  const more = h("small", { class: "use-more" });
  const spark = h("canvas", { class: "spark", width: 1, height: 1, "aria-hidden": "true" });
  const perS = h("b");
  const inFlight = h("span");
  const waiting = h("span");
  const refused = h("span");
  const cell = (kind, ...inside) => h("div", { role: "gridcell", class: `c-${kind}` }, inside);
  const figure = (kind, value) => cell(`${kind} num`, value, h("small", { class: "c-label", "aria-hidden": "true" }, t(`column.${kind}`)));
  const el = h(
    "div",
    { role: "row", class: "row caller", id: `caller-row-${number}` },
    cell("standing", standing),
    cell("caller", name, meta),
    cell("quota", bars.map((b) => b.el), more),
    cell("rate", spark, perS),
    figure("in_flight", inFlight),
    figure("waiting", waiting),
    figure("refused", refused),
  );
  let shown = null;
  let stood = "";

  function write(c) {
    if (stood !== c.standing) {
      stood = c.standing;
      standing.className = `standing ${stood}`;
      fill(standing, icon(stood), t(`standing.${stood}`));
      el.dataset.standing = stood;
    }
    setText(name, c.name || c.id);
    setAttr(name, "href", `#/callers/${encodeURIComponent(c.id)}`);
    setText(meta, [c.name && c.name !== c.id ? c.id : "", c.plan, c.pool].filter(Boolean).join(" · "));
    const uses = c.semantics.slice(0, BARS);
    bars.forEach((b, i) => b.show(c.id, uses[i]));
    const rest = c.semantics.length - uses.length;
    more.hidden = c.semantics.length > 0 && rest === 0;
    setText(more, c.semantics.length === 0 ? t("callers.no_traffic") : rest ? t("callers.more", { n: rest }) : "");
    setText(perS, t("unit.per_s", { n: rate(c.rate) }));
    setText(inFlight, count(c.in_flight));
    setText(waiting, count(c.waiting));
    setText(refused, rate(c.refused_per_s));
    setAttr(waiting, "class", c.waiting ? "warn" : "soft");
    setAttr(refused, "class", c.refused_per_s ? "bad" : "soft");
    setAttr(inFlight, "class", c.in_flight ? null : "soft");
    sparkline(spark, c.recent, { slots: MINUTE, width: 88, height: 26, line: c.standing === "surging" ? "--surge" : "--tide" });
  }

  return {
    el,
    // show puts the row at a place of the list; view is null while its caller is being fetched.
    show(index, view, { top, active, stale }) {
      el.hidden = false;
      setStyle(el, "transform", `translateY(${top}px)`);
      setAttr(el, "aria-rowindex", index + 2);
      setAttr(el, "aria-selected", active ? "true" : null);
      setAttr(el, "data-stale", stale ? "yes" : null);
      if (view === shown) return;
      shown = view;
      el.caller = view?.id ?? null;
      setAttr(el, "data-testid", view ? `caller-${view.id}` : null);
      setAttr(el, "data-empty", view ? null : "yes");
      if (view) write(view);
    },
    hide() {
      el.hidden = true;
      shown = null;
      setAttr(el, "data-testid", null);
    },
  };
}

// bar is a semantic's use of its quota.
function bar() {
  const name = h("span", { class: "use-name" });
  const share = h("span", { class: "use-share" });
  const level = h("i");
  const el = h("div", { class: "use" }, h("div", { class: "use-head" }, name, share), h("div", { class: "use-bar", "aria-hidden": "true" }, level));
  return {
    el,
    show(caller, use) {
      el.hidden = !use;
      setAttr(el, "data-testid", use ? `caller-${caller}-bar-${use.semantic}` : null);
      if (!use) return;
      setText(name, use.semantic);
      setText(share, percent(use.occupancy));
      setAttr(el, "title", t("callers.use", { semantic: use.semantic, share: percent(use.occupancy), limit: use.limit, level: use.level, rate: rate(use.rate), expected: rate(use.expected), waiting: count(use.waiting) }));
      setAttr(el, "data-standing", use.standing);
      setStyle(level, "transform", `scaleX(${Math.min(1, Math.max(0, use.occupancy)).toFixed(3)})`);
    },
  };
}
