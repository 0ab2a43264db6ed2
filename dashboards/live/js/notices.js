// What everybody must know, on top of every view: rules that only observe, a config that was not taken, what the gateway
// cannot do and runs on without.

import { h, keyed, setText } from "./dom.js";
import { moment } from "./format.js";
import { t } from "./i18n.js";
import { icon } from "./icons.js";

export function notices(root) {
  root.replaceChildren();
  root.setAttribute("aria-label", t("notice.label"));
  root.keyed = undefined;
  return {
    update(snapshot) {
      keyed(root, list(snapshot), (n) => n.key, make);
    },
  };
}

function make(first) {
  const text = h("strong");
  const detail = h("span");
  const el = h("div", { class: `notice ${first.kind}`, role: first.kind === "bad" ? "alert" : "note" }, icon(first.icon ?? first.kind), h("p", null, text, " ", detail));
  el.update = (n) => {
    setText(text, n.text);
    setText(detail, n.detail);
  };
  return el;
}

function list(s) {
  const all = [];
  if (s.observed) {
    const everything = s.observed.rules.length === 1 && s.observed.rules[0] === "*";
    const text = everything ? t("notice.observe_all") : t("notice.observe_some", { n: s.observed.rules.length });
    const { passed, waited, refused } = s.observed;
    const detail = t("notice.observe_would", { passed, waited, refused }) + (everything ? "" : ` ${s.observed.rules.join(", ")}`);
    all.push({ key: "observe", kind: "info", text, detail });
  }
  if (s.config.error) all.push({ key: "config", kind: "bad", icon: "warn", text: t("notice.config", { n: s.config.version }), detail: s.config.error });
  for (const trouble of s.troubles) {
    all.push({
      key: `trouble ${trouble.what}`,
      kind: "warn",
      text: t("notice.trouble", { what: t(`trouble.${trouble.what}`), since: moment(trouble.since) }),
      detail: [trouble.error, trouble.remedy].filter(Boolean).join(" · "),
    });
  }
  return all;
}
