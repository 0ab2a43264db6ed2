// Overrides as a table, each of which can be taken back.
import { h, keyed } from "../dom.js";
import { dropOverride } from "./overriding.js";
import { busy, callerHref, cells, empty, swap, table, when } from "./parts.js";

// overrideList shows overrides. done is called after one was taken back.
export function overrideList(app, { own = false, done } = {}) {
  const { t } = app;
  const columns = ["name", "value", "ends", "by", "made", "reason", "do"].map((key) => ({ key, title: t(`p.override.${key}`) }));
  const list = table(t("p.overrides.title"), columns);
  list.node.hidden = true;
  const nothing = h("div");
  return {
    node: h("div", { "data-testid": "override-list" }, list.node, nothing),
    fill(overrides, none) {
      list.node.hidden = overrides.length === 0;
      swap(nothing, overrides.length ? "some" : none, () => (overrides.length ? null : empty(none)));
      keyed(list.body, overrides, (o) => o.name, () => {
        const node = h("tr");
        node.update = (o) => {
          swap(node, JSON.stringify(o) + app.can("operator"), () => cells(columns, values(app, o, own, done)));
          node.classList.toggle("p-row-aside", Boolean(o.aside));
        };
        return node;
      });
    },
  };
}

function values(app, o, own, done) {
  const { t } = app;
  const caller = callerOf(o.name);
  const button = mayDrop(app, o.name) ? h("button", {
    type: "button", class: "p-small", "data-testid": "override-undo", onclick: (event) => undo(app, o, event.currentTarget, done),
  }, t("p.override.undo")) : null;
  return [
    [h("code", null, o.name), caller && !own ? [" ", h("a", { href: callerHref(caller) }, t("p.override.caller"))] : null,
      o.aside ? h("span", { class: "p-warn p-block" }, t("p.override.aside", { why: o.aside })) : null],
    h("code", null, o.value), o.until ? when(o.until) : t("p.override.no_end"), o.actor || "–", when(o.made), o.reason || "–", button ?? "–",
  ];
}

// mayDrop: whether rules hold at all is the owner's.
function mayDrop(app, name) {
  return app.can(name.startsWith("server.") || name.endsWith(".observe") ? "owner" : "operator");
}

// callerOf is the caller whom an override is about, "" where it is about none.
function callerOf(name) {
  const [, kind, rest] = /^(callers|flows)\.(.+)\.[^.]+$/.exec(name) ?? [];
  if (!kind) return "";
  return kind === "callers" ? rest : rest.slice(0, Math.max(0, rest.lastIndexOf("/")));
}

// undo takes one back at once: what was there is told and can be put back as quickly.
function undo(app, o, button, done) {
  return busy(button, async () => {
    try {
      await dropOverride(app, o, "");
      done?.();
    } catch (err) {
      app.toast(err.detail || app.t("p.failed_unreachable"), "bad");
    }
  });
}
