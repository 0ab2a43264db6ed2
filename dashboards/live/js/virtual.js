// The list of callers: of ten thousand only the rows in sight exist. Their elements are used again as the list
// scrolls; what they show is fetched for the rows in sight, once a second.

import { callerRow, header } from "./callerrow.js";
import { h, setAttr, setStyle, setText } from "./dom.js";
import { t } from "./i18n.js";

const EVERY = 1000; // ms between two fetches
const AFTER_SCROLL = 40; // ms until rows that came near are fetched
const SPARE = 6; // rows above and below those in sight that exist
const MARGIN = 20; // rows above and below those in sight that are fetched
const AHEAD = 60; // the same on the side to which the list is being scrolled
const POINTED = 4000; // ms after the pointer last moved in the list that the order is kept
const KEYED = 8000; // the same after a key
const STALE = 4000; // ms without news after which a row says so
const MANY = 1500; // callers that are remembered

export function virtualList(root, app, { onPage, onHeld, onSort }) {
  const sizer = h("div", { class: "sizer", role: "presentation" });
  const scroller = h("div", { class: "scroller", role: "rowgroup" }, sizer);
  const heads = header(onSort);
  const grid = h("div", { class: "grid", role: "grid", tabindex: 0, "aria-label": t("callers.grid"), "data-testid": "callers-grid" }, heads.el, scroller);
  const empty = h("p", { class: "empty", hidden: true });
  root.append(grid, empty);

  let asked = {};
  let turn = 0; // of what is asked: an answer to an older question is dropped
  let total = 0;
  let ids = []; // by place in the order; holes where nothing is known
  let callers = new Map(); // id -> { view, at }
  let rows = [];
  let height = 48;
  let active = -1;
  let keyAt = -KEYED;
  let pointerAt = -POINTED;
  let timer = 0;
  let scrolling = 0; // the timer of a fetch after scrolling
  let scrolledTo = 0;
  let direction = 0;
  let fetching = false;
  let again = false;
  let drawing = 0;
  let closed = false;
  let loaded = false; // something has been answered to what is asked
  let failure = ""; // why nothing has been

  const held = () => {
    const now = performance.now();
    return now - pointerAt < POINTED || now - keyAt < KEYED;
  };

  const range = (spare) => {
    const first = Math.floor(scroller.scrollTop / height);
    const seen = Math.ceil(scroller.clientHeight / height) + 1;
    const from = Math.max(0, first - spare);
    return [from, Math.max(from, Math.min(total, first + seen + spare))];
  };

  async function fetchRows() {
    if (closed) return;
    clearTimeout(timer);
    timer = setTimeout(tick, EVERY);
    if (fetching) {
      again = true;
      return;
    }
    fetching = true;
    const mine = turn;
    const seen = Math.ceil((scroller.clientHeight || 600) / height) + 1;
    const above = direction < 0 ? AHEAD : MARGIN;
    const below = direction > 0 ? AHEAD : MARGIN;
    const first = Math.max(0, Math.floor(scroller.scrollTop / height) - above);
    try {
      const page = await app.api.get("callers", { ...asked, sort: asked.sort || "attention", offset: first, limit: seen + above + below });
      if (mine === turn) take(page, first);
    } catch (why) {
      // What is shown stays, and the top bar says that the gateway does not answer.
      if (mine === turn && !loaded) {
        failure = t("callers.failed", { why: why.detail || t("callers.unreachable") });
        layout();
      }
    } finally {
      fetching = false;
    }
    if (again) {
      again = false;
      fetchRows();
    }
  }

  function tick() {
    direction = 0;
    if (document.visibilityState === "visible") fetchRows();
    else timer = setTimeout(tick, EVERY);
  }

  function take(page, first) {
    const now = performance.now();
    loaded = true;
    failure = "";
    const keep = held() && ids.length > 0;
    page.callers.forEach((view, i) => {
      callers.set(view.id, { view, at: now });
      if (!keep || ids[first + i] === undefined) ids[first + i] = view.id;
    });
    if (!keep || page.total > total) total = page.total;
    if (!keep) {
      ids.length = Math.min(ids.length, total);
      if (active >= total) active = total - 1;
    }
    onHeld(keep);
    onPage(page);
    if (callers.size > MANY) forget(first, first + page.callers.length);
    layout();
  }

  // forget keeps what is near the rows in sight; the rest is fetched again when it comes back into sight.
  function forget(from, to) {
    const near = new Map();
    const kept = [];
    for (let i = Math.max(0, from - 200); i < Math.min(ids.length, to + 200); i++) {
      const known = callers.get(ids[i]);
      if (known) {
        near.set(ids[i], known);
        kept[i] = ids[i];
      }
    }
    ids = kept;
    callers = near;
  }

  function layout() {
    setStyle(sizer, "height", `${total * height}px`);
    setStyle(scroller, "height", `min(var(--list), ${Math.max(1, total) * height}px)`);
    setAttr(grid, "aria-rowcount", total + 1);
    const why = failure || (loaded && total === 0 ? t("callers.none") : "");
    setText(empty, why);
    empty.hidden = !why;
    grid.hidden = Boolean(why);
    draw();
  }

  function draw() {
    drawing = 0;
    const [from, to] = range(SPARE);
    const need = to - from;
    while (rows.length < need) {
      const row = callerRow(rows.length, app);
      rows.push(row);
      sizer.append(row.el);
    }
    const now = performance.now();
    const used = new Set();
    for (let i = from; i < to; i++) {
      const row = rows[i % rows.length];
      used.add(row);
      const known = callers.get(ids[i]);
      row.show(i, known?.view ?? null, { top: i * height, active: i === active, stale: known !== undefined && now - known.at > STALE });
    }
    for (const row of rows) if (!used.has(row)) row.hide();
    setAttr(grid, "aria-activedescendant", active >= from && active < to ? rows[active % rows.length].el.id : null);
  }

  const redraw = () => (drawing ||= requestAnimationFrame(draw));

  scroller.addEventListener("scroll", () => {
    direction = Math.sign(scroller.scrollTop - scrolledTo);
    scrolledTo = scroller.scrollTop;
    redraw();
    if (scrolling) return;
    const [from, to] = range(MARGIN / 2);
    for (let i = from; i < to; i++) {
      if (callers.has(ids[i])) continue;
      scrolling = setTimeout(afterScroll, AFTER_SCROLL);
      return;
    }
  }, { passive: true });

  function afterScroll() {
    scrolling = 0;
    fetchRows();
  }

  grid.addEventListener("pointermove", (event) => event.pointerType !== "touch" && (pointerAt = performance.now()), { passive: true });
  grid.addEventListener("pointerleave", () => (pointerAt = -POINTED));
  grid.addEventListener("focusout", (event) => {
    if (grid.contains(event.relatedTarget)) return;
    keyAt = -KEYED;
    active = -1;
    redraw();
  });
  grid.addEventListener("focus", () => active < 0 && move(Math.floor(scroller.scrollTop / height)));
  grid.addEventListener("keydown", (event) => {
    if (event.target !== grid || event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(scroller.clientHeight / height) - 1);
    const to = { ArrowDown: active + 1, ArrowUp: active - 1, PageDown: active + page, PageUp: active - page, Home: 0, End: total - 1 }[event.key];
    if (to !== undefined) move(to);
    else if (event.key === "Enter" && ids[active] !== undefined) open(ids[active]);
    else return;
    event.preventDefault();
  });
  scroller.addEventListener("click", (event) => {
    const row = event.target.closest("[role=row]");
    if (row?.caller && !event.target.closest("a") && !getSelection()?.toString()) open(row.caller);
  });

  const open = (id) => app.go(`#/callers/${encodeURIComponent(id)}`);

  function move(to) {
    if (!total) return;
    active = Math.max(0, Math.min(total - 1, to));
    keyAt = performance.now();
    const top = active * height;
    if (top < scroller.scrollTop) scroller.scrollTop = top;
    else if (top + height > scroller.scrollTop + scroller.clientHeight) scroller.scrollTop = top + height - scroller.clientHeight;
    redraw();
  }

  // The height of a row is the style sheet's: on a phone it is another one.
  const measure = () => {
    const is = parseFloat(getComputedStyle(grid).getPropertyValue("--row")) || 48;
    const first = scroller.scrollTop / height;
    height = is;
    layout();
    scroller.scrollTop = first * height;
  };
  const resized = new ResizeObserver(measure);
  resized.observe(root);
  const awake = () => document.visibilityState === "visible" && fetchRows();
  document.addEventListener("visibilitychange", awake);

  return {
    // ask shows the callers that fit, from the first on.
    ask(next) {
      asked = { ...next };
      turn++;
      ids = [];
      loaded = false;
      failure = "";
      keyAt = -KEYED;
      pointerAt = -POINTED;
      scroller.scrollTop = 0;
      active = document.activeElement === grid ? 0 : -1;
      heads.sorted(asked.sort || "attention");
      fetchRows();
    },
    focus: () => grid.focus({ preventScroll: false }),
    close() {
      closed = true;
      turn++;
      clearTimeout(timer);
      clearTimeout(scrolling);
      cancelAnimationFrame(drawing);
      resized.disconnect();
      document.removeEventListener("visibilitychange", awake);
    },
  };
}
