// One semantic that a caller has registered, and what an owner can decide about it.
import { h } from "../dom.js";
import { openDialog } from "./dialog.js";
import { callerLink, copyButton, swap, when } from "./parts.js";

// registrationItem is a list's item; done is called after a decision.
export function registrationItem(app, first, { own = false, done } = {}) {
  const node = h("li", { class: "p-item", "data-testid": `registration-${first.caller}-${first.semantic}` });
  node.update = (r) => {
    swap(node, JSON.stringify(r) + app.can("owner"), () => content(app, r, own, done));
    node.classList.toggle("p-item-on", r.status === "waiting");
  };
  return node;
}

function content(app, r, own, done) {
  const { t } = app;
  return [
    h("div", { class: "p-item-line" }, own ? null : h("b", null, callerLink(r.caller)), h("b", null, r.semantic),
      h("span", { class: `p-badge p-is-${r.status}` }, t(`p.registration.status.${r.status}`)),
      r.level ? h("span", null, t("p.registration.level", { level: r.level })) : null,
      r.expected_rate ? h("span", null, t("p.registration.expects", { rate: r.expected_rate })) : null),
    r.description ? h("p", { class: "p-quote" }, r.description) : null,
    h("p", { class: "soft" }, t("p.registration.asked"), " ", when(r.asked), r.decided ? [" · ", t("p.registration.decided", { by: r.by === "plan" ? t("p.registration.by_plan") : r.by }), " ", when(r.decided)] : null,
      r.reason ? ` · ${r.reason}` : null),
    r.configured || r.status === "refused" || r.status === "off" ? null : snippetBox(app, r),
    app.can("owner") ? h("div", { class: "p-buttons" }, decisions(r).map((decision) => h("button", {
      type: "button", class: decision === "approve" ? "primary p-small" : "p-small", "data-testid": `registration-${decision}`, onclick: () => ask(app, r, decision, done),
    }, t(`p.registration.${decision}`)))) : null,
  ];
}

// decisions that change something.
function decisions(r) {
  const list = [];
  if (r.status !== "active" && r.configured) list.push("approve");
  if (r.status !== "refused") list.push("refuse");
  list.push("forget");
  return list;
}

// snippetBox is what an owner adds to the file before the registration can act: the level is the business's word.
function snippetBox(app, r) {
  const { t } = app;
  const text = snippet(app, r);
  return h("div", { class: "p-snippet" }, h("p", null, t("p.registration.not_configured")), h("pre", { tabindex: "0" }, text),
    h("div", { class: "p-buttons" }, copyButton(app, () => text), app.can("owner") ? h("a", { href: "#/config" }, t("p.registration.to_config")) : null));
}

export function snippet(app, r) {
  const levels = [...new Set((app.snapshot?.levels ?? []).map((l) => l.level))];
  const level = levels.at(-1) ?? "batch";
  const rate = /^\d+\/[\w.]+$/.test(r.expected_rate) ? r.expected_rate : "5/s";
  return `[[semantics]]\nname = ${quoted(r.semantic)}\nlevel = ${quoted(level)}   # ${app.t("p.registration.snippet_level", { levels: levels.join(", ") || level })}\nrate = ${quoted(rate)}\nmax_wait = "5s"\n`;
}

// quoted is a basic string of TOML.
function quoted(text) {
  return JSON.stringify(text);
}

function ask(app, r, decision, done) {
  const { t } = app;
  openDialog(app, {
    title: t(`p.registration.${decision}_title`, { caller: r.caller, semantic: r.semantic }), danger: decision !== "approve", reason: "",
    body: h("p", null, t(`p.registration.${decision}_note`, { level: r.level })), submit: t(`p.registration.${decision}`),
    onSubmit: async (reason) => {
      await app.api.post("registrations", { caller: r.caller, semantic: r.semantic, decision, ...(reason ? { reason } : {}) });
      app.toast(t(`p.registration.${decision}_said`, { caller: r.caller, semantic: r.semantic }), "good");
      done?.();
    },
  });
}
