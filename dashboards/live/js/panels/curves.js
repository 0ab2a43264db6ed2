// What a caller sent and what was expected of it, a curve for each semantic: the last 15 minutes by the second, or
// 7 days by the minute.
import { h, keyed, setText } from "../dom.js";
import { perSecond } from "../format.js";
import { openAction } from "./actions.js";
import { drawing } from "./drawing.js";
import { empty, problemBox, section, swap } from "./parts.js";

const spans = { "15m": { seconds: 900, again: 60_000 }, "168h": { seconds: 604_800, again: 120_000 } };
const most = 12; // curves at once

export function curves(app, id) {
  const { t } = app;
  let span = "15m";
  const grid = h("div", { class: "p-curves" });
  const nothing = h("div");
  const buttons = Object.keys(spans).map((key) => h("button", {
    type: "button", class: "p-tab", "aria-pressed": String(key === span), "data-testid": `history-${key}`,
    onclick: () => {
      span = key;
      for (const b of buttons) b.setAttribute("aria-pressed", String(b === buttons[Object.keys(spans).indexOf(span)]));
      for (const el of grid.children) el.ask(span);
    },
  }, t(`p.span.${key}`)));
  const part = section(t("p.caller.curves"), grid, nothing);
  part.querySelector("header").append(h("span", { class: "p-tabs", role: "group", "aria-label": t("p.surges.span") }, buttons));
  return {
    node: part,
    update(detail) {
      const names = [...new Set([...detail.caller.semantics.map((s) => s.semantic), ...detail.rules.filter((r) => r.registered).map((r) => r.semantic)])].slice(0, most);
      const uses = new Map(detail.caller.semantics.map((s) => [s.semantic, s]));
      keyed(grid, names.map((name) => ({ name, use: uses.get(name), time: detail.time, can: detail.rules.some((r) => r.semantic === name) })), (c) => c.name, (c) => curve(app, id, c.name, () => span));
      swap(nothing, String(names.length > 0), () => (names.length ? null : empty(t("p.caller.no_curves"))));
    },
    unmount() {
      for (const el of grid.children) el.gone();
    },
  };
}

function curve(app, id, semantic, span) {
  const { t } = app;
  const now = h("span", { class: "soft" });
  const place = h("div", { class: "p-curve-place", role: "img" });
  const fault = h("div");
  const action = h("button", {
    type: "button", class: "p-small", hidden: true, "data-testid": `curve-rate-${semantic}`, onclick: () => openAction(app, { caller: id, semantic, kind: "rate" }),
  }, t("p.rule.change"));
  const node = h("figure", { class: "p-curve", "data-testid": `curve-${semantic}` }, h("figcaption", null, h("b", null, semantic), now, action), place, fault);
  const chart = drawing(place, t("p.curve.time"), [
    { label: t("p.curve.rate"), colour: "--tide", fill: "--water" },
    { label: t("p.curve.expected"), colour: "--warn", dash: [4, 4] },
    { label: t("p.curve.refused"), colour: "--bad" },
  ]);
  let asked = 0;
  let gone = false;
  let data = [[], [], [], []];

  node.ask = async (which) => {
    asked = Date.now();
    try {
      const view = await app.api.get("history", { kind: "caller", name: `${id}/${semantic}`, span: which });
      if (gone || which !== span()) return;
      fault.replaceChildren();
      const from = Date.parse(view.from) / 1000;
      const rates = view.fields.rate ?? [];
      data = [rates.map((_, i) => from + (i * view.step_ms) / 1000), rates, view.fields.expected ?? rates.map(() => null), view.fields.refused_per_s ?? rates.map(() => null)];
      draw();
    } catch (err) {
      if (!gone) fault.replaceChildren(problemBox(app, err));
    }
  };
  const draw = () => {
    const end = data[0].length ? data[0][data[0].length - 1] : Date.now() / 1000;
    chart.draw(data, end - spans[span()].seconds, end);
  };
  node.update = ({ use, time, can }) => {
    setText(now, use ? t("p.curve.now", { rate: perSecond(use.rate), expected: perSecond(use.expected), limit: use.limit || "–" }) : t("p.curve.silent"));
    place.setAttribute("aria-label", t("p.curve.label", { semantic, now: now.textContent }));
    action.hidden = !can || !app.can("operator");
    if (Date.now() - asked > spans[span()].again) node.ask(span());
    if (span() !== "15m") return;
    // Between two looks into the history, and where there is none, the curve goes on by what is seen.
    const at = Math.floor(Date.parse(time) / 1000);
    if (at <= (data[0].at(-1) ?? 0)) return;
    const values = [at, use?.rate ?? 0, use?.expected ?? null, use?.refused_per_s ?? 0];
    data = data.map((list, i) => [...list, values[i]]);
    draw();
  };
  node.gone = () => {
    gone = true;
    chart.gone();
  };
  return node;
}
