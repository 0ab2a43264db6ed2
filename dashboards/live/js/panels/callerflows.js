// What a caller has in each flow, and why the detector holds it to be what it is.
import { h, keyed, setAttr, setText } from "../dom.js";
import { count, dash, percent, rate } from "../format.js";
import { slot } from "./tell.js";
import { bar, cells, empty, standingBadge, swap, table } from "./parts.js";

export function callerFlows(app) {
  const { t } = app;
  const keys = ["flow", "standing", "limit", "occupancy", "rate", "expected", "evidence", "in_flight", "waiting", "admitted", "refused"];
  const columns = keys.map((key, i) => ({ key, title: t(`p.flow.${key}`), number: i > 3 }));
  const list = table(t("p.caller.flows"), columns);
  const nothing = h("div");
  return {
    node: h("div", null, list.node, nothing),
    update(flows, total) {
      list.node.hidden = flows.length === 0;
      keyed(list.body, flows, (f) => JSON.stringify([f.semantic, f.route, f.tenant]), (f) => row(app, columns, f));
      swap(nothing, `${flows.length} ${total}`, () => {
        if (!flows.length) return empty(t("p.flow.none"));
        return total > flows.length ? h("p", { class: "soft" }, t("p.flow.shown", { shown: count(flows.length), n: count(total) })) : null;
      });
    },
  };
}

function row(app, columns, first) {
  const { t } = app;
  const slots = Object.fromEntries(columns.map((c) => [c.key, h("span")]));
  setAttr(slots.limit, "data-testid", `flow-${first.semantic}-limit`);
  const node = h("tr", null, cells(columns, columns.map((c) => slots[c.key])));
  slots.flow.append(h("b", null, first.semantic), ...[["route", first.route], ["tenant", first.tenant]].filter(([, v]) => v)
    .map(([key, v]) => h("small", null, " ", t(`p.flow.${key}`, { name: v }))));
  node.update = (f) => {
    swap(slots.standing, `${f.standing} ${f.state}`, () => [standingBadge(app, f.standing), f.state === "learning" || f.state === "rising" || f.state === "cooling" ? h("small", null, " ", t(`p.state.${f.state}`)) : null]);
    setText(slots.limit, dash(f.limit));
    swap(slots.occupancy, `${f.occupancy} ${f.standing}`, () => bar(f.occupancy, percent(f.occupancy), f.standing));
    setText(slots.rate, rate(f.rate));
    swap(slots.expected, `${f.expected} ${f.season_slot} ${f.season_learning}`, () => [
      f.expected > 0 ? rate(f.expected) : "–", f.season_slot ? h("small", null, " ", t(f.season_learning ? "p.flow.slot_learning" : f.seasonal ? "p.flow.slot_usual" : "p.flow.slot", { slot: slot(app, f.season_slot) })) : null]);
    setText(slots.evidence, f.needed > 0 ? t("p.flow.evidence_of", { score: rate(f.score), needed: rate(f.needed) }) : "–");
    for (const key of ["in_flight", "waiting", "admitted", "refused"]) setText(slots[key], count(f[key]));
    node.classList.toggle("p-row-on", f.standing === "surging");
  };
  return node;
}
