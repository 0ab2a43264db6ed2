// Overrides as a table, each of which can be taken back.
import { h, keyed } from "../dom.js";
import { openDialog } from "./dialog.js";
import { callerHref, cells, diffView, empty, swap, table, when } from "./parts.js";
import { dropOverride, untilText } from "./overriding.js";

// overrideList shows overrides. done is called after one was taken back.
export function overrideList(app, { own = false, done } = {}) {
  const { t } = app;
  const columns = ["name", "value", "ends", "by", "made", "reason", "do"].map((key) => ({ key, title: t(`p.override.${key}`) }));
  const list = table(t("p.overrides.title"), columns);
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
  const undo = mayDrop(app, o.name) ? h("button", {
    type: "button", class: "p-small", "data-testid": "override-undo", onclick: () => ask(app, o, done),
  }, t("p.override.undo")) : null;
  return [
    [h("code", null, o.name), caller && !own ? [" ", h("a", { href: callerHref(caller) }, t("p.override.caller"))] : null,
      o.aside ? h("span", { class: "p-warn p-block" }, t("p.override.aside", { why: o.aside })) : null],
    h("code", null, o.value), o.until ? when(o.until) : t("p.override.no_end"), o.actor || "–", when(o.made), o.reason || "–", undo ?? "–",
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

function ask(app, o, done) {
  const { t } = app;
  openDialog(app, {
    title: t("p.override.undo_title"), reason: true, submit: t("p.override.undo"),
    body: [h("p", null, t("p.override.undo_note")),
      diffView(app, `- ${o.name} = ${o.value}  (${untilText(app, o.until)})\n+ ${t("p.action.file_line", { name: o.name })}\n`)],
    onSubmit: async (reason) => {
      await dropOverride(app, o, reason);
      done?.();
    },
  });
}
