// All overrides: single values that operators have set above the file, with their end and their undo.
import { h } from "../dom.js";
import { endChoice } from "./ends.js";
import { openDialog } from "./dialog.js";
import { overrideList } from "./overridelist.js";
import { setOverride } from "./overriding.js";
import { problemBox } from "./parts.js";

export function mount(root, app) {
  const { t } = app;
  const fault = h("div", { role: "alert" });
  let kept = [];
  let gone = false;
  const ask = async () => {
    try {
      const found = await app.api.get("overrides");
      if (gone) return;
      kept = found;
      fault.replaceChildren();
      list.fill(kept, t("p.overrides.none"));
    } catch (err) {
      if (!gone) fault.replaceChildren(problemBox(app, err));
    }
  };
  const list = overrideList(app, { done: ask });
  const add = app.can("operator") ? h("button", { type: "button", "data-testid": "override-new", onclick: () => askNew(app, kept, ask) }, t("p.overrides.add")) : null;
  const node = h("div", { class: "p-view" }, h("div", { class: "p-head" }, h("h1", null, t("p.overrides.title")), add),
    h("p", { class: "p-lead" }, t("p.overrides.lead")), fault, list.node);
  root.append(node);
  addEventListener("tidegate:changed", ask);
  ask();

  // An override that is made, taken back or over is one more version.
  let version = app.snapshot?.config.version;
  return {
    update(snapshot) {
      if (snapshot.config.version === version) return;
      version = snapshot.config.version;
      ask();
    },
    unmount() {
      gone = true;
      removeEventListener("tidegate:changed", ask);
      node.remove();
    },
  };
}

// askNew takes any override that there is; the forms of names stand beside the field.
function askNew(app, kept, done) {
  const { t } = app;
  const pools = (app.snapshot?.pools ?? []).map((p) => `pools.${p.name}.seats`);
  const rules = [...new Set((app.snapshot?.flows ?? []).map((f) => f.rule).filter(Boolean))].map((r) => `rules.${r}.rate`);
  const callers = [...new Set((app.snapshot?.flows ?? []).map((f) => f.caller))].flatMap((c) => [`callers.${c}.pool`, `callers.${c}.enabled`, ...(app.can("owner") ? [`callers.${c}.plan`] : [])]);
  const name = h("input", { type: "text", list: "p-override-names", autocomplete: "off", spellcheck: "false", "data-testid": "override-name" });
  const value = h("input", { type: "text", autocomplete: "off", spellcheck: "false", "data-testid": "override-value" });
  const ends = endChoice(app);
  const body = h("div", null,
    h("label", { class: "p-field" }, h("span", null, t("p.override.name")), name),
    h("datalist", { id: "p-override-names" }, [...pools, ...rules, ...callers].map((n) => h("option", { value: n }))),
    h("p", { class: "soft" }, t("p.overrides.forms")),
    h("label", { class: "p-field" }, h("span", null, t("p.override.value")), value), ends.node);
  const dialog = openDialog(app, {
    title: t("p.overrides.add"), body, reason: "", submit: t("p.overrides.set"),
    onSubmit: async (reason) => {
      const before = kept.find((o) => o.name === name.value.trim()) ?? null;
      await setOverride(app, { name: name.value.trim(), value: value.value.trim(), reason, ends: ends.value() }, before);
      done();
    },
  });
  const check = () => dialog.ready(Boolean(name.value.trim() && value.value.trim()) && ends.valid());
  body.addEventListener("input", check);
  check();
}
