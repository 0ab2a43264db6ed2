// The strip: whether the promise is kept, and the whole gateway in a few figures over the tide of the last 15 minutes.

import { area, pen } from "./chart.js";
import { fill, h, setAttr, setText } from "./dom.js";
import { availability, count, moment, rate, span } from "./format.js";
import { t } from "./i18n.js";
import { icon } from "./icons.js";
import { LENGTH, past } from "./past.js";
import { colour, onTheme } from "./theme.js";

export function strip(root) {
  const sign = h("span", { class: "promise-sign" });
  const head = h("strong");
  const told = h("span");
  const shares = h("dl", { class: "shares" });
  const promise = h("div", { class: "promise" }, sign, h("div", null, h("h2", null, head), h("p", null, told), h("div", { class: "available" }, h("span", null, t("strip.available")), shares)));

  const figures = {
    requests: figure("strip.requests"),
    waiting: figure("strip.waiting", null, "strip-waiting"),
    refused: figure("strip.refused", "#/refusals"),
    surging: figure("strip.surging", "#/surges", "strip-surging"),
    targets: figure("strip.targets"),
    config: figure("strip.config", "#/config"),
  };
  const tide = h("canvas", { class: "tide", role: "img" });
  root.append(
    h("section", { class: "strip card", "aria-label": t("strip.label") }, promise, h("ul", { class: "figures" }, Object.values(figures).map((f) => f.el)), h("div", { class: "tide-box" }, tide, h("small", { class: "tide-label", "aria-hidden": "true" }, t("strip.tide")))),
  );

  const total = past("total");
  function draw() {
    const p = pen(tide);
    if (!p) return;
    const { rate: offered, admitted_per_s: admitted, refused_per_s: refused } = total.fields;
    const most = Math.max(1, total.peak("rate")) * 1.1;
    area(p, offered, most, { slots: LENGTH, fill: colour("--water") });
    area(p, admitted, most, { slots: LENGTH, fill: colour("--water"), stroke: colour("--tide") });
    area(p, refused, most, { slots: LENGTH, fill: colour("--surge") });
    setAttr(tide, "aria-label", t("strip.tide_said", { peak: rate(total.peak("rate")), refused: rate(total.peak("refused_per_s")) }));
  }
  const resized = new ResizeObserver(draw);
  resized.observe(tide);
  const themed = onTheme(draw);

  return {
    update(s) {
      const broken = s.promise.refused_within_rate;
      const state = broken ? "broken" : "kept";
      if (promise.dataset.state !== state) {
        promise.dataset.state = state;
        fill(sign, icon(broken ? "warn" : "good", { width: 28, height: 28 }));
      }
      setText(head, t(`strip.promise_${state}`));
      setText(told, t("strip.refused_within_rate", { n: broken, count: count(broken), span: span(s.uptime_s * 1000) }));
      const over = [["1", s.promise.availability_1m], ["5", s.promise.availability_5m ?? s.promise.availability], ["60", s.promise.availability_60m]];
      const key = JSON.stringify(over);
      if (shares.key !== key) {
        shares.key = key;
        fill(shares, over.map(([n, share]) => h("div", null, h("dt", null, t("unit.min", { n })), h("dd", { class: share !== null && share < 1 ? "warn" : null }, availability(share)))));
      }

      const { totals } = s;
      figures.requests.set(rate(totals.requests_per_s), t("strip.admitted", { n: rate(totals.admitted_per_s) }));
      figures.waiting.set(count(totals.waiting), t("strip.in_flight", { n: count(totals.in_flight) }));
      figures.refused.set(rate(totals.refused_per_s), t("strip.see_refusals"), totals.refused_per_s ? "warn" : "");
      figures.surging.set(count(totals.surging), t("strip.flows", { n: s.flows_total, count: count(s.flows_total) }), totals.surging ? "bad" : "");
      const down = s.targets.filter((one) => !one.healthy);
      const up = s.targets.length - down.length;
      figures.targets.set(`${up}/${s.targets.length}`, down.length ? t("strip.down", { name: down[0].target, n: down.length }) : t("strip.all_up"), down.length ? "bad" : "");
      const { version, error, loaded_at } = s.config;
      figures.config.set(t("strip.version", { n: version }), error ? t("strip.not_taken") : t("strip.held", { at: moment(loaded_at) }), error ? "bad" : "");
      draw();
    },
    unmount() {
      resized.disconnect();
      themed();
    },
  };
}

function figure(key, href, id) {
  const value = h("span", { class: "value", "data-testid": id });
  const sign = h("span", { class: "figure-sign" });
  const note = h("span", { class: "note" });
  const inner = [h("span", { class: "label" }, t(key)), h("span", { class: "figure-line" }, sign, value), note];
  const el = h("li", null, href ? h("a", { href }, inner) : h("div", null, inner));
  return {
    el,
    set(text, words, kind = "") {
      setText(value, text);
      setText(note, words);
      setAttr(note, "title", words);
      if (el.dataset.kind === kind) return;
      el.dataset.kind = kind;
      fill(sign, kind && icon("warn"));
    },
  };
}
