// The audit trail: who did or tried what, when, from where, and what it changed.
import { h, keyed } from "../dom.js";
import { diffView, empty, later, problemBox, swap, when } from "./parts.js";

const actions = ["login", "logout", "locked_out", "config_put", "config_rollback", "reload", "override_set", "override_drop", "override_ended",
  "registration_asked", "registration_approved", "registration_refused", "registration_forgotten", "registration_decided", "registration_taken_back", "alert_test", "config_preview", "start"];
const page = 50;

export function mount(root, app) {
  const { t } = app;
  const title = h("h1", null, t("p.audit.title"));
  if (!app.can("operator")) {
    const node = h("div", { class: "p-view" }, title, empty(t("p.audit.operators")));
    root.append(node);
    return { unmount: () => node.remove() };
  }
  const actor = h("input", { type: "text", autocomplete: "off", spellcheck: "false", "data-testid": "audit-actor" });
  const action = h("input", { type: "text", autocomplete: "off", spellcheck: "false", list: "p-audit-actions", "data-testid": "audit-action" });
  const query = h("input", { type: "search", autocomplete: "off", spellcheck: "false", "data-testid": "audit-query" });
  const fault = h("div", { role: "alert" });
  const list = h("ol", { class: "p-list", "data-testid": "audit-list" });
  const nothing = h("div");
  const older = h("button", { type: "button", hidden: true, "data-testid": "audit-older" }, t("p.audit.older"));
  const field = (text, input) => h("label", { class: "p-field" }, h("span", null, text), input);
  const node = h("div", { class: "p-view" }, title, h("p", { class: "p-lead" }, t("p.audit.lead")),
    h("form", { class: "p-filters", role: "search", onsubmit: (e) => { e.preventDefault(); ask(); } },
      field(t("p.audit.actor"), actor), field(t("p.audit.action"), action), field(t("p.audit.query"), query),
      h("datalist", { id: "p-audit-actions" }, actions.map((a) => h("option", { value: a }, t(`p.audit.did.${a}`))))),
    fault, list, nothing, older);
  root.append(node);

  let entries = [];
  let turn = 0;
  let gone = false;
  // ask begins anew, or with more goes on behind the oldest that is shown.
  const ask = async (more = false) => {
    const mine = ++turn;
    older.disabled = true;
    try {
      const found = await app.api.get("audit", {
        actor: actor.value.trim(), action: action.value.trim(), query: query.value.trim(), before: more ? entries.at(-1)?.id : undefined, limit: page,
      });
      if (gone || mine !== turn) return;
      fault.replaceChildren();
      entries = more ? [...entries, ...found] : found;
      older.hidden = found.length < page;
      keyed(list, entries, (e) => e.id, (e) => item(app, e));
      const searched = actor.value || action.value || query.value;
      swap(nothing, `${entries.length > 0} ${Boolean(searched)}`, () => (entries.length ? null : empty(t(searched ? "p.audit.none_found" : "p.audit.none"))));
    } catch (err) {
      if (!gone && mine === turn) fault.replaceChildren(problemBox(app, err));
    } finally {
      older.disabled = false;
    }
  };
  const typed = later(250, () => ask());
  for (const input of [actor, action, query]) input.addEventListener("input", typed);
  older.addEventListener("click", () => ask(true));
  ask();

  let version = app.snapshot?.config.version;
  return {
    // What is read further back is left alone.
    update(snapshot) {
      if (snapshot.config.version === version || entries.length > page || list.querySelector("details[open]")) return;
      version = snapshot.config.version;
      ask();
    },
    unmount() {
      gone = true;
      typed.cancel();
      node.remove();
    },
  };
}

function item(app, e) {
  const { t } = app;
  const known = actions.includes(e.action);
  const line = [
    h("span", { class: "p-item-line" }, when(e.time), h("b", null, e.actor || "–"), h("span", null, known ? t(`p.audit.did.${e.action}`) : e.action), e.subject ? h("code", null, e.subject) : null,
      e.outcome === "refused" ? h("span", { class: "p-badge p-is-refused" }, t("p.audit.refused"), e.code ? ` · ${e.code}` : "") : null),
    e.reason ? h("span", { class: "p-told" }, e.reason) : null,
  ];
  const facts = h("p", { class: "soft" }, [e.from ? t("p.audit.from", { from: e.from }) : "", e.role ? t("p.audit.role", { role: e.role }) : "", e.version ? t("p.audit.version", { version: e.version }) : "", t("p.audit.number", { id: e.id })].filter(Boolean).join(" · "));
  return h("li", null, h("details", { class: e.outcome === "refused" ? "p-item p-item-refused" : "p-item" }, h("summary", null, line), h("div", { class: "p-item-body" }, facts, e.diff ? diffView(app, e.diff) : null)));
}
