// Semantics that callers have registered with their own keys. Those that wait come first.
import { h, keyed, setText } from "../dom.js";
import { empty, later, problemBox, swap } from "./parts.js";
import { registrationItem } from "./registrationitem.js";

const statuses = ["waiting", "active", "refused", "off"];

export function mount(root, app) {
  const { t } = app;
  const fault = h("div", { role: "alert" });
  const search = h("input", { type: "search", autocomplete: "off", spellcheck: "false" });
  const status = h("select", null, h("option", { value: "" }, t("p.any")), statuses.map((s) => h("option", { value: s }, t(`p.registration.status.${s}`))));
  const count = h("p", { class: "soft", role: "status" });
  const list = h("ul", { class: "p-list", "data-testid": "registration-list" });
  const nothing = h("div");
  const node = h("div", { class: "p-view" }, h("h1", null, t("p.registrations.title")), h("p", { class: "p-lead" }, t("p.registrations.lead")),
    app.can("owner") ? null : h("p", { class: "p-note" }, t("p.registrations.owners")),
    h("form", { class: "p-filters", role: "search", onsubmit: (e) => e.preventDefault() },
      h("label", { class: "p-field" }, h("span", null, t("p.registrations.search")), search), h("label", { class: "p-field" }, h("span", null, t("p.registrations.status")), status)),
    count, fault, list, nothing);
  root.append(node);

  const most = 200; // shown at once; the search finds the others
  let all = [];
  let gone = false;
  const show = () => {
    const word = search.value.trim().toLowerCase();
    const fit = all.filter((r) => (!status.value || r.status === status.value) && (!word || `${r.caller} ${r.semantic} ${r.description}`.toLowerCase().includes(word)));
    keyed(list, fit.slice(0, most), (r) => JSON.stringify([r.caller, r.semantic]), (r) => registrationItem(app, r, { done: ask }));
    setText(count, fit.length > most ? t("p.registrations.shown", { shown: most, n: fit.length }) : fit.length ? t("p.registrations.count", { n: fit.length }) : "");
    swap(nothing, `${fit.length > 0} ${all.length > 0}`, () => (fit.length ? null : empty(t(all.length ? "p.registrations.none_found" : "p.registrations.none"))));
  };
  const ask = async () => {
    try {
      const found = await app.api.get("registrations");
      if (gone) return;
      all = found;
      fault.replaceChildren();
      show();
    } catch (err) {
      if (!gone) fault.replaceChildren(problemBox(app, err));
    }
  };
  search.addEventListener("input", later(150, show));
  status.addEventListener("change", show);
  ask();

  let seen = mark(app.snapshot);
  return {
    update(snapshot) {
      const now = mark(snapshot);
      if (now === seen) return;
      seen = now;
      ask();
    },
    unmount() {
      gone = true;
      node.remove();
    },
  };
}

// mark changes with what a list of registrations rests on.
function mark(snapshot) {
  return snapshot ? `${snapshot.registrations_waiting} ${snapshot.config.version}` : "";
}
