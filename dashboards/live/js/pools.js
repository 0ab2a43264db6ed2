// Pools: each with its seats as cells, its queue by level, and its last 15 minutes.

import { area, curve, pen } from "./chart.js";
import { h, keyed, setAttr, setText } from "./dom.js";
import { clock, count, percent } from "./format.js";
import { t } from "./i18n.js";
import { levels } from "./levels.js";
import { past } from "./past.js";
import { cells, kinds } from "./seats.js";
import { colour } from "./theme.js";

const letters = { lent: "L", borrowed: "B" };

export function pools(root) {
  const list = h("div", { class: "pools" });
  const seen = new IntersectionObserver((entries) => entries.forEach((e) => e.target.seen(e.isIntersecting)), { rootMargin: "200px" });
  root.append(h("section", { "aria-label": t("pools.label") }, list));
  return {
    update(snapshot) {
      const would = new Map(snapshot.observed?.pools.map((p) => [p.name, p]));
      const items = snapshot.pools.map((pool) => ({
        pool,
        would: would.get(pool.name),
        levels: snapshot.levels.filter((l) => l.pool === pool.name),
        wouldLevels: snapshot.observed?.levels.filter((l) => l.pool === pool.name) ?? [],
      }));
      keyed(list, items, (item) => item.pool.name, (item) => card(item, seen));
    },
    unmount() {
      seen.disconnect();
      keyed(list, [], () => "", null);
    },
  };
}

function card({ pool }, seen) {
  const used = h("strong");
  const share = h("span", { class: "soft" });
  const waiting = h("span", { class: "pool-waiting" });
  const would = h("p", { class: "would", hidden: true });
  const grid = h("div", { class: "seats", role: "img" });
  const legend = h("ul", { class: "legend" });
  const readout = h("p", { class: "readout" });
  const plot = h("div", { class: "plot", role: "img" });
  const lane = h("canvas", { class: "lane", "aria-hidden": "true", hidden: true });
  const queue = levels();
  const el = h(
    "article",
    { class: "card pool", "data-testid": `pool-${pool.name}`, "aria-label": t("pools.one", { name: pool.name }) },
    h("header", null, h("h2", null, pool.name), h("span", null, used, " ", share), waiting),
    h("div", { class: "body" }, h("div", { class: "pool-now" }, would, grid, legend, queue.el), h("div", { class: "pool-past" }, readout, plot, lane)),
  );

  const entries = Object.fromEntries(kinds.map((kind) => {
    const n = h("b");
    const entry = h("li", null, h("span", { class: `seat ${kind}`, "aria-hidden": "true" }, letters[kind]), `${t(`seat.${kind}`)} `, n);
    legend.append(entry);
    return [kind, { entry, n }];
  }));

  const kept = past("pool", pool.name);
  let chart = null;
  let cursor = null;
  let visible = false;
  function draw() {
    setAttr(plot, "aria-label", t("pools.curve", { name: pool.name, used: count(kept.peak("in_use")), waiting: count(kept.peak("waiting")) }));
    read();
    if (!visible) return;
    const { committed, excess, surge, seats, waiting: queued } = kept.fields;
    const sum = (a, b) => a.map((v, i) => (v === null || b[i] === null ? null : v + b[i]));
    const two = sum(committed, excess);
    chart ??= curve(plot, {
      height: 96,
      sync: "pools",
      scales: { y: { range: (_, low, high) => [0, Math.max(1, high) * 1.05] } },
      series: [
        { stroke: "--surge", fill: "--surge" },
        { stroke: "--excess", fill: "--excess" },
        { stroke: "--committed", fill: "--committed" },
        { stroke: "--soft", dash: [4, 4], width: 1 },
      ],
      onCursor(i) {
        cursor = i;
        read();
      },
    });
    chart.set([kept.times(), sum(two, surge), two, committed, seats]);
    drawLane(queued);
  }
  // Who waited has a lane of its own: over the seats it would hide them.
  function drawLane(queued) {
    const most = kept.peak("waiting");
    lane.hidden = !most;
    const p = most ? pen(lane) : null;
    if (p) area(p, queued, most, { fill: colour("--lane"), stroke: colour("--ink"), wide: 1 });
  }
  function read() {
    const of = (field, i) => count(kept.fields[field][i]);
    if (cursor === null) setText(readout, t("pools.peaks", { used: count(kept.peak("in_use")), waiting: count(kept.peak("waiting")) }));
    else setText(readout, t("pools.at", { at: clock(new Date(kept.times()[cursor] * 1000)), used: of("in_use", cursor), seats: of("seats", cursor), waiting: of("waiting", cursor) }));
  }

  el.seen = (yes) => {
    visible = yes;
    draw();
  };
  el.update = ({ pool: now, would: observed, levels: rows, wouldLevels }) => {
    setText(used, t("pools.used", { n: now.seats, used: count(now.in_use), seats: count(now.seats) }));
    setText(share, now.seats ? percent(now.in_use / now.seats) : "");
    setText(waiting, now.waiting ? t("pools.waiting", { n: now.waiting, count: count(now.waiting) }) : "");
    would.hidden = !observed;
    if (observed) setText(would, t("pools.would", { used: count(observed.in_use), seats: count(observed.seats), waiting: count(observed.waiting) }));
    const shown = cells(now);
    paint(grid, shown);
    for (const kind of kinds) {
      setText(entries[kind].n, count(shown.counts[kind]));
      entries[kind].entry.hidden = !shown.counts[kind] && (kind === "lent" || kind === "borrowed");
    }
    setAttr(grid, "aria-label", kinds.filter((kind) => shown.counts[kind]).map((kind) => `${t(`seat.${kind}`)} ${shown.counts[kind]}`).join(", ") || t("pools.none"));
    setAttr(grid, "title", shown.per > 1 ? t("pools.per", { n: shown.per }) : null);
    queue.update(rows, wouldLevels);
    draw();
  };
  el.gone = () => {
    seen.unobserve(el);
    chart?.close();
  };
  seen.observe(el);
  return el;
}

// paint keeps the cells and changes only their class, so that a second costs what has changed.
function paint(grid, { own, borrowed }) {
  const want = [...own.flatMap(([kind, n]) => Array(n).fill(kind)), ...Array(borrowed).fill("borrowed")];
  while (grid.children.length < want.length) grid.append(h("span"));
  while (grid.children.length > want.length) grid.lastElementChild.remove();
  want.forEach((kind, i) => {
    const cell = grid.children[i];
    if (cell.kind === kind) return;
    cell.kind = kind;
    cell.className = `seat ${kind}`;
    cell.textContent = letters[kind] ?? "";
  });
}
