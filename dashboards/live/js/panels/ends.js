// When an override ends: by hand, after a while, or at a moment.
import { h } from "../dom.js";

const spans = { "15m": 15, "30m": 30, "2h": 120 };
let count = 0;

// endChoice is the choice as a group of radio buttons. value() is what the API takes, {}, {for} or {until};
// until() is the moment or null; valid() is false for a moment that is missing or over.
export function endChoice(app) {
  const { t } = app;
  const name = `p-ends-${++count}`;
  const at = h("input", { type: "datetime-local", "aria-label": t("p.ends.at_label"), "data-testid": "ends-time" });
  at.value = localMinute(new Date(Date.now() + 3_600_000));
  const radios = ["undone", "15m", "30m", "2h", "at"].map((key, i) => {
    const input = h("input", { type: "radio", name, value: key, "data-testid": `ends-${key}` });
    input.checked = i === 0;
    return h("label", { class: "p-choice" }, input, h("span", null, t(`p.ends.${key}`)));
  });
  const node = h("fieldset", { class: "p-ends" }, h("legend", null, t("p.ends.legend")), h("div", { class: "p-choices" }, ...radios, at));
  const chosen = () => node.querySelector("input[type=radio]:checked").value;
  const moment = () => (at.value ? new Date(at.value) : null);

  const show = () => { at.hidden = chosen() !== "at"; };
  show();
  return {
    node,
    valid: () => chosen() !== "at" || (moment() !== null && moment() > new Date()),
    value() {
      if (chosen() === "undone") return {};
      return chosen() === "at" ? { until: moment().toISOString() } : { for: chosen() };
    },
    until() {
      if (chosen() === "undone") return null;
      return chosen() === "at" ? moment().toISOString() : new Date(Date.now() + spans[chosen()] * 60_000).toISOString();
    },
    onChange(fn) {
      node.addEventListener("input", () => { show(); fn(); });
    },
  };
}

function localMinute(date) {
  const pad = (n) => String(n).padStart(2, "0");
  return `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}T${pad(date.getHours())}:${pad(date.getMinutes())}`;
}
