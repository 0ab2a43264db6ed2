// What a check of a configuration came to: each fault with its line, what would change, and what would not act.
import { fill, h, setText } from "../dom.js";
import { diffView, section } from "./parts.js";

// problemList is the faults below the editor; each leads to its line.
export function problemList(app, go) {
  const { t } = app;
  const id = "p-config-problems";
  const list = h("ol", { class: "p-problems" });
  const count = h("span", { class: "p-count", role: "status" });
  const node = h("div", { id, hidden: true }, list);
  return {
    id, node, count,
    show(problems) {
      node.hidden = problems.length === 0;
      setText(count, problems.length ? t("p.config.faults", { n: problems.length }) : "");
      count.classList.toggle("bad", problems.length > 0);
      fill(list, problems.map((p) => h("li", { "data-testid": "config-problem", "data-line": p.line }, p.line > 0
        ? h("button", { type: "button", class: "p-small", onclick: () => go(p.line, p.column) }, t("p.config.line", { line: p.line }))
        : h("span", { class: "chip" }, t("p.config.no_line")),
      h("span", { class: "p-problem-text" }, p.name || p.key ? h("code", null, p.name || p.key, p.value ? ` = ${p.value}` : "") : null, " ", h("b", null, p.message), p.hint ? h("span", { class: "soft" }, ` ${p.hint}`) : null))));
    },
  };
}

// checkView is what would change.
export function checkView(app, answer) {
  const { t } = app;
  if (!answer.ok) return null;
  return section(t("p.config.change"),
    answer.restart_needed?.length ? h("p", { class: "p-warn" }, t("p.config.restart", { keys: answer.restart_needed.join(", ") })) : null,
    answer.asides?.length ? h("div", { class: "p-warn" }, t("p.config.asides", { n: answer.asides.length }), h("ul", { class: "p-bullets" }, answer.asides.map((o) => h("li", null, h("code", null, o.name), ` ${o.aside}`)))) : null,
    diffView(app, answer.diff, "config-diff"));
}
