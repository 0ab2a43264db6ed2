// The choice of a rate: what holds now, how far it may go, a slider and a number for the same amount.
import { h } from "../dom.js";
import { bound, parseRate, rulesOf, sliderEnd } from "./rates.js";
import { rate as perS } from "../format.js";

export function rateChoice(app, { detail, overrides, semantic }) {
  const { t } = app;
  const caller = detail.caller.id;
  const names = [...new Set([...detail.caller.semantics.map((s) => s.semantic), ...detail.rules.map((r) => r.semantic)])]
    .filter((name) => rulesOf(detail, name).length > 0);
  const select = h("select", { "data-testid": "action-semantic" }, ...names.map((name) => h("option", { value: name }, name)));
  select.value = names.includes(semantic) ? semantic : names[0] ?? "";
  const facts = h("dl", { class: "p-facts" });
  const slider = h("input", { type: "range", class: "p-slider", min: "1", step: "1", "aria-label": t("p.action.rate.slider"), "data-testid": "rate-slider" });
  const number = h("input", { type: "number", class: "p-number", min: "1", step: "1", inputmode: "numeric", "aria-label": t("p.action.rate.number"), "data-testid": "rate-number" });
  const span = h("span", { class: "p-rate-span" });
  const presets = h("div", { class: "p-choices" });
  const back = h("label", { class: "p-choice" }, h("input", { type: "checkbox", "data-testid": "rate-file" }), h("span", null, t("p.action.rate.back")));
  const node = h("div", null,
    h("label", { class: "p-field" }, h("span", null, t("p.semantic")), select),
    facts,
    h("div", { class: "p-rate" }, slider, number, span), presets, back);
  const fromFile = back.firstElementChild;
  let at = null;

  // read takes in what holds for the chosen semantic.
  const read = () => {
    const rules = rulesOf(detail, select.value);
    const name = `flows.${caller}/${select.value}.rate`;
    const standing = overrides.find((o) => o.name === name) ?? null;
    const current = parseRate(standing && !standing.aside ? standing.value : rules[0]?.rate);
    if (!current) {
      at = null;
      return;
    }
    const { most, said } = bound(rules, current.per, app.can("owner"));
    at = { rules, name, standing, current, most, said };
    const end = sliderEnd(current, most, said);
    slider.max = String(end);
    number.max = Number.isFinite(most) ? String(most) : "";
    put(Math.min(current.n, end));
    span.textContent = t("p.action.rate.per", { span: current.span });
    back.hidden = !standing;
    fromFile.checked = false;
    facts.replaceChildren(...factList(app, detail, select.value, at));
    presets.replaceChildren(...presetButtons());
  };
  const put = (n) => {
    slider.value = String(n);
    number.value = String(n);
    slider.setAttribute("aria-valuetext", at ? `${n}/${at.current.span}` : String(n));
  };
  const presetButtons = () => {
    const { current, most, said, rules } = at;
    const file = parseRate(rules[0].file_rate);
    const list = [["half", Math.max(1, Math.floor(current.n / 2))]];
    if (file && file.span === current.span) list.push(["file", file.n]);
    if (Number.isFinite(most) || said?.fromMax) list.push(["most", said.n]);
    return list.filter(([, n], i) => n <= most && list.findIndex(([, m]) => m === n) === i).map(([key, n]) => {
      const button = h("button", { type: "button", class: "p-small" }, t(`p.action.rate.preset_${key}`, { rate: `${n}/${current.span}` }));
      button.addEventListener("click", () => {
        fromFile.checked = false;
        put(n);
        number.dispatchEvent(new Event("input", { bubbles: true }));
      });
      return button;
    });
  };
  select.addEventListener("input", read);
  slider.addEventListener("input", () => { fromFile.checked = false; put(Number(slider.value)); });
  number.addEventListener("input", () => {
    fromFile.checked = false;
    if (Number(number.value) >= 1) slider.value = number.value;
  });
  read();

  const amount = () => (/^\d+$/.test(number.value) ? Number(number.value) : NaN);
  return {
    node,
    choice() {
      if (!at) return null;
      const { name, standing, current, most, rules } = at;
      if (fromFile.checked) return { name, drop: true, submit: t("p.action.rate.submit_file") };
      const n = amount();
      if (!(n >= 1) || n > most || n === current.n) return null;
      const text = `${n}/${current.span}`;
      return {
        name, value: text, was: rules[0].rate, at: rules.length === 1 ? rules[0].at : "",
        submit: t(n < current.n ? "p.action.rate.submit_lower" : "p.action.rate.submit_raise", { rate: text }),
        said: t("p.action.rate.said", { caller, semantic: select.value, rate: text }), standing,
      };
    },
    why() {
      if (!at) return t("p.action.rate.none");
      const n = amount();
      if (!(n >= 1)) return t("p.action.rate.whole");
      if (n > at.most) return t(at.said.fromMax ? "p.action.rate.above_max" : "p.action.rate.above_file", { rate: `${at.said.n}/${at.current.span}`, rule: at.said.rule });
      return t("p.action.rate.same");
    },
  };
}

// factList is what holds now: the rate and where it is from, the file's, how far it may go, and what is asked for.
function factList(app, detail, semantic, { rules, standing, current, most, said }) {
  const { t } = app;
  const use = detail.caller.semantics.find((s) => s.semantic === semantic);
  const pairs = [[t("p.action.rate.now"), `${current.n}/${current.span}${standing && !standing.aside ? ` (${t("p.override_by", { actor: standing.actor })})` : ""}`]];
  for (const rule of rules) {
    pairs.push([t("p.action.rate.file"), `${rule.file_rate || rule.rate}  (${rule.rule}, ${rule.at})`]);
  }
  pairs.push([t("p.action.rate.max"), Number.isFinite(most) ? `${said.text}${said.fromMax ? "" : ` (${t("p.action.rate.max_file")})`}` : `${said?.fromMax ? said.text : "–"} (${t("p.action.rate.max_owner")})`]);
  if (use) pairs.push([t("p.action.rate.asked"), t("p.action.rate.asked_value", { rate: perS(use.rate), expected: perS(use.expected) })]);
  return pairs.flatMap(([name, value]) => [h("dt", null, name), h("dd", null, value)]);
}
