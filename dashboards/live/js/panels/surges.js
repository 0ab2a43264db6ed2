// Surges: when each was, what was expected and what came, why it was held to be one, and what was done.
import { h, keyed, setText } from "../dom.js";
import { rate, span as lasting } from "../format.js";
import { done, surge as told } from "./tell.js";
import { callerHref, empty, swap, when } from "./parts.js";
import { timeline } from "./timeline.js";

const spans = [["15m", 900], ["1h", 3600], ["6h", 21_600], ["24h", 86_400]];

// mount shows the timeline and, unless params.compact, a title above and each surge below it.
export function mount(root, app, params = {}) {
  const { t } = app;
  let span = params.compact ? spans[0] : spans[1];
  const line = timeline(app);
  const list = surgeList(app);
  const quiet = h("div", null);
  const buttons = spans.map((one) => {
    const button = h("button", { type: "button", class: "p-tab", "data-testid": `surges-${one[0]}` }, t(`p.span.${one[0]}`));
    button.addEventListener("click", () => {
      span = one;
      press();
      draw();
    });
    return button;
  });
  const press = () => buttons.forEach((b, i) => b.setAttribute("aria-pressed", String(spans[i] === span)));
  press();
  const tabs = h("div", { class: "p-tabs", role: "group", "aria-label": t("p.surges.span") }, ...buttons);
  const node = params.compact
    ? h("div", { class: "p-compact" }, tabs, line.node, quiet)
    : h("div", { class: "p-view" }, h("div", { class: "p-head" }, h("h1", null, t("p.surges.title")), tabs),
      h("p", { class: "p-lead" }, t("p.surges.lead")), h("div", { class: "card p-pad" }, line.node, quiet), list.node);
  root.append(node);

  let last = app.snapshot;
  let drawn = 0;
  const draw = () => {
    if (!last) return;
    drawn = Date.now();
    const now = Date.parse(last.time);
    const shown = last.surges.filter((s) => !s.end || Date.parse(s.end) >= now - span[1] * 1000);
    line.node.hidden = shown.length === 0;
    if (shown.length) line.draw(last.surges, span[1] * 1000, now);
    swap(quiet, shown.length ? "some" : span[0], () => (shown.length ? [] : [empty(t("p.surges.none", { span: t(`p.span.${span[0]}`) }))]));
    if (!params.compact) list.fill(last.surges, last.flows);
  };
  const resized = () => draw();
  window.addEventListener("resize", resized);
  draw();
  return {
    // A bar of an hour does not move within a second.
    update(snapshot) {
      const changed = !last || signature(snapshot) !== signature(last);
      last = snapshot;
      if (changed || Date.now() - drawn >= Math.max(1000, span[1])) draw();
      else if (!params.compact) list.fill(last.surges, last.flows);
    },
    unmount() {
      window.removeEventListener("resize", resized);
      node.remove();
    },
  };
}

function signature(snapshot) {
  return snapshot.surges.map((s) => s.start + s.caller + s.semantic + (s.end ?? "")).join();
}

// surgeList is surges one by one. With own, the caller is not named.
export function surgeList(app, { own = false } = {}) {
  const list = h("ul", { class: "p-list", "data-testid": "surge-list" });
  return {
    node: list,
    fill(surges, flows) {
      const rows = surges.map((s) => ({ s, now: s.end ? null : standingOf(flows ?? [], s) }));
      keyed(list, rows, ({ s }) => `${s.start} ${s.caller} ${s.semantic}`, ({ s }) => item(app, s, own));
    },
  };
}

function item(app, first, own) {
  const { t } = app;
  const until = h("span");
  const peak = h("span");
  const did = h("span", { class: "p-told" });
  const node = h("li", { class: "p-item" },
    h("div", { class: "p-item-line" },
      own ? null : h("a", { href: callerHref(first.caller) }, h("b", null, first.caller)), h("b", null, first.semantic), h("span", null, when(first.start), " – ", until)),
    h("div", { class: "p-item-line" }, h("span", null, t("p.surges.expected", { rate: rate(first.baseline) })), peak),
    h("span", { class: "p-told" }, told(app, first)), did);
  node.update = ({ s, now }) => {
    node.classList.toggle("p-item-on", !s.end);
    swap(until, s.end ?? "on", () => (s.end
      ? [when(s.end), " ", h("span", { class: "soft" }, t("p.surges.lasted", { span: lasting(Date.parse(s.end) - Date.parse(s.start)) }))]
      : [h("b", { class: "p-on" }, t("p.surges.still"))]));
    setText(peak, t("p.surges.peak", { rate: rate(s.peak) }));
    setText(did, done(app, s, now));
  };
  return node;
}

// standingOf sums what the flows of a surge do now; null where none of them is shown.
function standingOf(flows, s) {
  const own = flows.filter((f) => f.caller === s.caller && f.semantic === s.semantic);
  if (own.length === 0) return null;
  return own.reduce((sum, f) => ({ waiting: sum.waiting + f.waiting, refused_per_s: sum.refused_per_s + f.refused_per_s }), { waiting: 0, refused_per_s: 0 });
}
