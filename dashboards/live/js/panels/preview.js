// The last minutes played under the configuration in force and under the new one: who would wait, who would
// be refused.
import { h } from "../dom.js";
import { count, minute, span } from "../format.js";
import { callerLink, cells, empty, section, table } from "./parts.js";

export function previewView(app, view) {
  const { t } = app;
  const columns = ["caller", "semantic", "offered", "passed", "waited", "refused", "p99"].map((key, i) => ({ key, title: t(`p.preview.${key}`), number: i > 1 }));
  const list = table(t("p.preview.title"), columns);
  list.body.append(...(view.rows ?? []).map((r) => h("tr", { "data-testid": "preview-row" }, cells(columns, [
    callerLink(r.caller), r.semantic,
    pair(r.before.offered, r.after.offered), pair(r.before.passed, r.after.passed, -1), pair(r.before.waited, r.after.waited, 1), pair(r.before.refused, r.after.refused, 1),
    pair(r.before.wait_p99_ms, r.after.wait_p99_ms, 1, span),
  ]))));
  const pools = (view.pools ?? []).map((p) => h("li", null, t("p.preview.pool", {
    pool: p.name, before: t("p.preview.peak", { peak: count(p.peak_before), seats: count(p.seats_before) }), after: t("p.preview.peak", { peak: count(p.peak_after), seats: count(p.seats_after) }),
  })));
  return section(t("p.preview.title"), h("div", { "data-testid": "config-preview-result" },
    h("p", null, t("p.preview.lead", { n: view.requests, requests: count(view.requests), from: minute(view.from), to: minute(view.to) }), " ", verdict(app, view)),
    view.rows?.length ? list.node : empty(t("p.preview.nothing")),
    view.same && view.rows?.length ? h("p", { class: "soft" }, t("p.preview.same", { n: view.same })) : null,
    pools.length ? [h("h3", null, t("p.preview.pools")), h("ul", { class: "p-bullets" }, pools)] : null,
    view.notes?.length ? h("ul", { class: "p-bullets soft" }, view.notes.map((n) => h("li", null, n))) : null));
}

// verdict is the one sentence that decides.
function verdict(app, view) {
  const sum = (of, key) => (view.rows ?? []).reduce((all, r) => all + r[of][key], 0);
  const refused = sum("after", "refused") - sum("before", "refused");
  const waited = sum("after", "waited") - sum("before", "waited");
  const { t } = app;
  const key = (n) => (n > 0 ? "more" : n < 0 ? "fewer" : "same");
  return h("b", null, t(`p.preview.refused_${key(refused)}`, { n: Math.abs(refused), amount: count(Math.abs(refused)) }), " ", t(`p.preview.waited_${key(waited)}`, { n: Math.abs(waited), amount: count(Math.abs(waited)) }));
}

// pair is a value before and after; worse is the sign of a change that is worse, 0 where none is.
function pair(before, after, worse = 0, show = count) {
  if (show(before) === show(after)) return h("span", { class: "soft" }, show(after));
  const sign = Math.sign(after - before) * worse;
  const mark = after > before ? "▲" : "▼";
  return h("span", { class: "p-pair" }, h("span", { class: "soft" }, show(before)), " → ", h("b", { class: sign > 0 ? "bad" : sign < 0 ? "good" : "" }, show(after), h("span", { "aria-hidden": "true" }, ` ${mark}`)));
}
