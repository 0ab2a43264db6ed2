// Who a caller is, how it stands, and what can be done about it.
import { h, setAttr, setText } from "../dom.js";
import { count, rate } from "../format.js";
import { openAction } from "./actions.js";
import { standingBadge, swap } from "./parts.js";

export function callerHead(app, id) {
  const { t } = app;
  const name = h("span", { class: "p-caller-name" });
  const standing = h("span", { "data-testid": "caller-standing" });
  const terms = h("p", { class: "p-terms" });
  const figures = ["rate", "admitted", "refused", "in_flight", "waiting"].map((key) => ({ key, value: h("dd"), title: t(`p.caller.figure.${key}`) }));
  const actions = h("div", { class: "p-actions" });
  return {
    node: h("header", { class: "p-caller-head" },
      h("div", { class: "p-head" }, h("h1", null, id, " ", name), standing, actions), terms,
      h("dl", { class: "p-figures" }, figures.map((f) => h("div", null, h("dt", null, f.title), f.value)))),
    update({ caller }) {
      setText(name, caller.name);
      setAttr(standing, "data-standing", caller.standing);
      swap(standing, caller.standing, () => standingBadge(app, caller.standing));
      swap(terms, `${caller.plan} ${caller.pool} ${caller.enabled}`, () => [
        t("p.caller.plan"), " ", h("b", null, caller.plan), " · ", t("p.caller.pool"), " ", h("b", null, caller.pool), " · ",
        h("b", null, t(caller.enabled ? "p.caller.enabled" : "p.caller.disabled"))]);
      const values = { rate: rate(caller.rate), admitted: rate(caller.admitted_per_s), refused: rate(caller.refused_per_s), in_flight: count(caller.in_flight), waiting: count(caller.waiting) };
      for (const f of figures) setText(f.value, values[f.key]);
      swap(actions, `${app.can("operator")} ${caller.enabled}`, () => (app.can("operator") ? buttons(app, caller) : h("span", { class: "soft" }, t("p.caller.looking"))));
    },
  };
}

function buttons(app, caller) {
  return ["rate", "pool", caller.enabled ? "pause" : "resume"].map((kind) => h("button", {
    type: "button", "data-testid": `action-${kind}`, onclick: () => openAction(app, { caller: caller.id, kind }),
  }, app.t(`p.action.${kind}.button`)));
}
