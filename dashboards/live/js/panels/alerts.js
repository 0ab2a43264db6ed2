// Alerts: what was told, and whether it got through.
import { h, keyed } from "../dom.js";
import { busy, cells, empty, problemBox, swap, table, when } from "./parts.js";

const every = 3000; // ms between two looks

export function mount(root, app) {
  const { t } = app;
  const fault = h("div", { role: "alert" });
  const webhook = h("p", { class: "p-note" });
  const columns = ["time", "kind", "subject", "text", "delivery"].map((key) => ({ key, title: t(`p.alert.${key}`) }));
  const list = table(t("p.alerts.title"), columns);
  list.node.hidden = true;
  const nothing = h("div");
  const test = app.can("operator") ? h("button", { type: "button", "data-testid": "alert-test" }, t("p.alerts.test")) : null;
  const node = h("div", { class: "p-view" }, h("div", { class: "p-head" }, h("h1", null, t("p.alerts.title")), test),
    h("p", { class: "p-lead" }, t("p.alerts.lead")), webhook, fault, list.node, nothing);
  root.append(node);

  let gone = false;
  let asking = false;
  const ask = async () => {
    if (asking || document.hidden) return;
    asking = true;
    try {
      const view = await app.api.get("alerts");
      if (gone) return;
      fault.replaceChildren();
      swap(webhook, String(view.webhook), () => t(view.webhook ? "p.alerts.webhook" : "p.alerts.no_webhook"));
      if (test) test.disabled = !view.webhook && test.getAttribute("aria-busy") !== "true";
      list.node.hidden = view.alerts.length === 0;
      swap(nothing, String(view.alerts.length > 0), () => (view.alerts.length ? null : empty(t("p.alerts.none"))));
      keyed(list.body, view.alerts, (a) => a.id, () => row(app, columns));
    } catch (err) {
      if (!gone) fault.replaceChildren(problemBox(app, err));
    } finally {
      asking = false;
    }
  };
  test?.addEventListener("click", () => busy(test, async () => {
    try {
      await app.api.post("alerts/test", {});
      app.toast(t("p.alerts.test_sent"), "good");
      await ask();
    } catch (err) {
      app.toast(err.detail || t("p.failed_unreachable"), "bad");
    }
  }));
  ask();
  const timer = setInterval(ask, every);
  return {
    unmount() {
      gone = true;
      clearInterval(timer);
      node.remove();
    },
  };
}

function row(app, columns) {
  const { t } = app;
  const node = h("tr");
  node.update = (a) => swap(node, JSON.stringify(a), () => cells(columns, [
    when(a.time),
    h("span", { class: `p-badge ${a.resolved ? "p-is-calm" : "p-is-alert"}` }, t(`p.alert.kind.${a.kind}`), a.resolved ? ` · ${t("p.alert.resolved")}` : ""),
    a.subject || "–", a.text,
    [h("span", { class: `p-badge p-is-${a.status}` }, t(`p.alert.status.${a.status}`)), a.sent_at ? [" ", when(a.sent_at)] : null,
      a.attempts > 1 ? h("small", null, " ", t("p.alert.attempts", { n: a.attempts })) : null,
      a.error ? h("span", { class: "p-warn p-block" }, a.error) : null],
  ]));
  return node;
}
