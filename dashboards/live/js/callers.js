// Callers: what asks for them (search, filters, order) over the list that shows them.

import { h, keyed, setAttr, setText } from "./dom.js";
import { count } from "./format.js";
import { typing } from "./help.js";
import { t } from "./i18n.js";
import { icon } from "./icons.js";
import { virtualList } from "./virtual.js";

const standings = ["surging", "throttled", "waiting", "excess", "paused", "calm"];
const sorts = ["attention", "rate", "occupancy", "waiting", "in_flight", "refused", "caller"];
const filters = ["query", "pool", "plan", "level", "standing", "sort"];
const PAUSE = 200; // ms after the last key before a search is sent

export function callers(root, app, params) {
  // What is asked for stands in the address, so that it can be sent to a colleague and outlives a look at one caller.
  const asked = Object.fromEntries(filters.map((name) => [name, params[name] ?? ""]));
  if (!sorts.includes(asked.sort)) asked.sort = "";

  const search = h("input", { type: "search", placeholder: t("callers.search"), "aria-label": t("callers.search"), "aria-keyshortcuts": "/", value: asked.query, autocomplete: "off", spellcheck: "false", "data-testid": "callers-search" });
  let typed = 0;
  search.addEventListener("input", () => {
    clearTimeout(typed);
    typed = setTimeout(() => ask("query", search.value.trim()), PAUSE);
  });
  search.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "Enter") {
      event.preventDefault();
      list.focus();
    } else if (event.key === "Escape") {
      if (search.value) {
        search.value = "";
        ask("query", "");
      } else search.blur();
    }
  });

  const choices = Object.fromEntries(["pool", "plan", "level"].map((name) => [name, choice(name, asked[name], (v) => ask(name, v))]));
  const order = h("select", { "aria-label": t("callers.sort"), onchange: () => ask("sort", order.value), "data-testid": "callers-sort" }, sorts.map((s) => h("option", { value: s === "attention" ? "" : s }, t(`sort.${s}`))));
  order.value = asked.sort;

  const chips = h("div", { class: "chips", role: "group", "aria-label": t("callers.by_standing") });
  const total = h("span", { class: "soft" });
  const held = h("span", { class: "held soft", hidden: true }, icon("paused"), t("callers.held"));

  const section = h(
    "section",
    { class: "card callers", "aria-labelledby": "callers-title" },
    h("header", null, h("h2", { id: "callers-title" }, t("callers.title")), total, held),
    h("div", { class: "ask" }, h("div", { class: "toolbar" }, h("span", { class: "search" }, icon("search"), search), Object.values(choices).map((c) => c.el), h("label", { class: "order" }, h("span", null, t("callers.sort")), order)), chips),
  );
  const list = virtualList(section, app, {
    onPage(page) {
      setText(total, t("callers.total", { n: page.total, count: count(page.total) }));
      shown(page.standings);
      for (const caller of page.callers) choices.plan.offer(caller.plan);
      for (const plan of page.plans ?? []) choices.plan.offer(plan);
    },
    onHeld: (yes) => (held.hidden = !yes),
    onSort: (sort) => {
      order.value = sort === "attention" ? "" : sort;
      ask("sort", order.value);
    },
  });
  list.ask(asked);
  root.append(section);

  function ask(name, value) {
    if (asked[name] === value) return;
    asked[name] = value;
    const query = new URLSearchParams(Object.entries(asked).filter(([, v]) => v)).toString();
    app.go(query ? `#/?${query}` : "#/", { replace: true });
    list.ask(asked);
    press();
  }

  // The counts are of all that fit the rest of what is asked, so they stay while one of them is chosen.
  function shown(counts) {
    const all = standings.reduce((sum, s) => sum + (counts[s] ?? 0), 0);
    keyed(chips, ["", ...standings].map((s) => ({ standing: s, n: s ? (counts[s] ?? 0) : all })), (c) => c.standing, ({ standing }) => {
      const n = h("b");
      const el = h("button", { type: "button", class: `chip standing ${standing}`, "data-testid": `standing-${standing || "all"}`, onclick: () => ask("standing", asked.standing === standing ? "" : standing) }, standing && icon(standing), h("span", null, standing ? t(`standing.${standing}`) : t("callers.all")), n);
      el.update = (c) => (setText(n, count(c.n)), setAttr(el, "data-none", c.n ? null : "yes"));
      return el;
    });
    press();
  }

  function press() {
    for (const [standing, el] of chips.keyed ?? []) setAttr(el, "aria-pressed", String(asked.standing === standing));
  }

  function onKey(event) {
    if (event.key !== "/" || typing(event)) return;
    event.preventDefault();
    search.focus();
    search.select();
  }
  addEventListener("keydown", onKey);

  return {
    update(snapshot) {
      for (const pool of snapshot.pools) choices.pool.offer(pool.name);
      for (const level of snapshot.levels) choices.level.offer(level.level);
    },
    unmount() {
      removeEventListener("keydown", onKey);
      clearTimeout(typed);
      list.close();
    },
  };
}

// choice is a filter whose values become known as they are seen.
function choice(name, value, onChange) {
  const el = h("select", { "aria-label": t(name), "data-testid": `callers-${name}` }, h("option", { value: "" }, t(`callers.any_${name}`)));
  const known = new Set();
  const offer = (v) => {
    if (!v || known.has(v)) return;
    known.add(v);
    el.append(h("option", { value: v }, v));
  };
  offer(value);
  el.value = value;
  el.addEventListener("change", () => onChange(el.value));
  return { el, offer };
}
