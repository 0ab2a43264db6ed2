// The queue of one pool by level: how many wait, the oldest against its longest wait, and how fast it drains.

import { h, keyed, setAttr, setStyle, setText } from "./dom.js";
import { count, none, perSecond, span } from "./format.js";
import { t } from "./i18n.js";

export function levels() {
  const body = h("tbody");
  const el = h(
    "table",
    { class: "levels" },
    h("thead", null, h("tr", null, h("th", { scope: "col" }, t("level")), h("th", { scope: "col", class: "num" }, t("levels.waiting")), h("th", { scope: "col", class: "num" }, t("levels.oldest")), h("th", { scope: "col", class: "num" }, t("levels.drain")))),
    body,
  );
  return {
    el,
    update(rows, would) {
      const items = rows.map((level) => ({ level, would: would.find((w) => w.level === level.level) }));
      keyed(body, items, (item) => item.level.level, row);
    },
  };
}

function row({ level }) {
  const waiting = h("span");
  const would = h("small", { hidden: true });
  const oldest = h("span");
  const bar = h("span", { class: "wait-bar", "aria-hidden": "true" }, h("i"));
  const drain = h("td", { class: "num" });
  const el = h(
    "tr",
    { "data-testid": `level-${level.pool}-${level.level}` },
    h("th", { scope: "row" }, level.level),
    h("td", { class: "num" }, waiting, " ", would),
    h("td", { class: "num" }, oldest, bar),
    drain,
  );
  el.update = ({ level: now, would: observed }) => {
    setText(waiting, count(now.waiting));
    would.hidden = !observed;
    if (observed) setText(would, t("levels.would", { n: count(observed.waiting) }));
    const most = now.max_wait_ms;
    setText(oldest, !now.waiting ? none : most ? t("levels.of", { wait: span(now.oldest_wait_ms), most: span(most) }) : span(now.oldest_wait_ms));
    const share = now.waiting && most ? Math.min(1, now.oldest_wait_ms / most) : 0;
    setStyle(bar, "visibility", share ? "visible" : "hidden");
    setStyle(bar.firstElementChild, "transform", `scaleX(${share.toFixed(3)})`);
    setAttr(el, "data-late", share >= 0.8 ? "yes" : null);
    setAttr(el, "data-waiting", now.waiting ? "yes" : null);
    setText(drain, perSecond(now.dispatched_per_s));
  };
  return el;
}
