// The rules that a caller's requests meet, where each stands, and how it came to hold.
import { h, keyed } from "../dom.js";
import { span } from "../format.js";
import { openAction } from "./actions.js";
import { openDialog } from "./dialog.js";
import { cells, empty, problemBox, swap, table } from "./parts.js";

export function callerRules(app, detail) {
  const { t } = app;
  const keys = ["semantic", "route", "rule", "rate", "max_rate", "max_wait", "over_rate", "level", "do"];
  const columns = keys.map((key) => ({ key, title: t(`p.rule.${key}`) }));
  const list = table(t("p.caller.rules"), columns);
  const nothing = h("div");
  return {
    node: h("div", null, list.node, nothing),
    update(rules) {
      list.node.hidden = rules.length === 0;
      swap(nothing, String(rules.length === 0), () => (rules.length ? null : empty(t("p.rule.none"))));
      keyed(list.body, rules, (r) => JSON.stringify([r.route, r.semantic]), (r) => row(app, columns, r, detail));
    },
  };
}

function row(app, columns, first, detail) {
  const node = h("tr");
  node.update = (r) => swap(node, JSON.stringify(r), () => cells(columns, values(app, r, detail)));
  node.update(first);
  return node;
}

function values(app, r, detail) {
  const { t } = app;
  const caller = () => detail().caller.id;
  const changed = r.file_rate && r.file_rate !== r.rate;
  return [
    [h("b", null, r.semantic), r.registered ? null : h("small", null, " ", t("p.rule.unregistered"))],
    words(r.route), [h("code", null, r.rule), " ", h("small", null, r.at)],
    [h("b", { class: "p-words" }, r.rate), changed ? h("small", null, " ", t("p.rule.file_rate", { rate: r.file_rate })) : null,
      r.overrides?.length ? h("small", { class: "p-mark", title: r.overrides.join("\n") }, " ", t("p.rule.overridden", { n: r.overrides.length })) : null],
    r.max_rate || t("p.rule.no_max"), r.max_wait_ms > 0 ? span(r.max_wait_ms) : t("p.rule.no_wait"), t(`p.over_rate.${r.over_rate}`), words(r.level),
    h("span", { class: "p-buttons" },
      h("button", { type: "button", class: "p-small", onclick: () => explain(app, caller(), r) }, t("p.rule.explain")),
      app.can("operator") ? h("button", {
        type: "button", class: "p-small", "data-testid": `rule-rate-${r.semantic}`, onclick: () => openAction(app, { caller: caller(), semantic: r.semantic, kind: "rate" }),
      }, t("p.rule.change")) : null),
  ];
}

// words keeps a short name in one piece, where a long one may break.
const words = (name) => (name.length > 16 ? name : h("span", { class: "p-words" }, name));

// explain shows how the gateway comes to the rule.
async function explain(app, caller, r) {
  const { t } = app;
  const title = t("p.explain.title", { caller, semantic: r.semantic, route: r.route });
  let body;
  try {
    const e = await app.api.get("explain", { caller, route: r.route, semantic: r.semantic });
    const facts = [["rule", `${e.rule}  (${e.at})`], ["why", e.why], ["flow", e.flow], ["rate", e.rate], ["burst", e.burst || ""], ["cost", e.cost], ["max_wait", e.max_wait],
      ["max_in_flight", e.max_in_flight ? `${e.max_in_flight} (${e.over_in_flight})` : ""], ["over_rate", e.over_rate], ["level", e.level], ["pool", e.pool], ["caller_rate", e.caller_rate],
      ["message", e.message]].filter(([, v]) => v !== "" && v !== undefined);
    body = [
      h("dl", { class: "p-facts" }, facts.map(([key, value]) => [h("dt", null, t(`p.explain.${key}`)), h("dd", null, value)])),
      part(t("p.explain.overrode"), (e.overrode ?? []).map((o) => [h("code", null, o.rule), " ", h("small", null, o.at)])),
      part(t("p.explain.overrides"), (e.overrides ?? []).map((o) => h("code", null, o.name ?? String(o)))),
      part(t("p.explain.notes"), e.notes ?? []),
    ];
  } catch (err) {
    body = problemBox(app, err);
  }
  openDialog(app, { title, body, wide: true });
}

function part(title, items) {
  return items.length ? [h("h3", null, title), h("ul", null, items.map((item) => h("li", null, item)))] : null;
}
