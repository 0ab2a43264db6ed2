// What to do with a gateway that has seen no traffic yet.

import { h } from "./dom.js";
import { t } from "./i18n.js";
import { toast } from "./toast.js";

export const quiet = (snapshot) => snapshot.flows_total === 0 && snapshot.refusals.length === 0;

export function first(app) {
  const gateway = app.session.gateway || `${location.hostname}:8080`;
  const command = `curl -i -H "X-API-Key: YOUR-KEY" http://${gateway}/v1/chat/hello`;
  const copy = navigator.clipboard && h("button", { class: "quiet", type: "button", onclick: () => navigator.clipboard.writeText(command).then(() => toast(t("first.copied")), () => {}) }, t("first.copy"));
  return h(
    "section",
    { class: "card first" },
    h("header", null, h("h2", null, t("first.title"))),
    h(
      "ol",
      { class: "body" },
      h("li", null, h("h3", null, t("first.send")), h("p", null, t("first.send_how")), h("div", { class: "command" }, h("pre", { tabindex: 0, "aria-label": t("first.command") }, h("code", null, command)), copy)),
      h("li", null, h("h3", null, t("first.key")), h("p", null, t("first.key_how")), h("pre", { tabindex: 0, "aria-label": t("first.key") }, h("code", null, "tidegate key"))),
      h("li", null, h("h3", null, t("first.fit")), h("p", null, t("first.fit_how")), h("p", null, h("a", { href: "#/config" }, t("first.config")))),
    ),
  );
}
