// The overview: the strip, pools with their queues, callers, and the last surges and refusals.

import { callers } from "./callers.js";
import { h } from "./dom.js";
import { first, quiet } from "./first.js";
import { t } from "./i18n.js";
import { pools } from "./pools.js";
import { strip } from "./strip.js";

export function mount(root, app, params) {
  root.append(h("h1", { class: "unseen" }, t("nav.overview")));
  const top = h("div");
  const start = h("div");
  const middle = h("div");
  const list = h("div");
  const surges = panel("surges", t("overview.surges"), t("overview.all_surges"));
  const refusals = panel("refusals", t("overview.refusals"), t("overview.all_refusals"));
  root.append(top, start, middle, list, h("div", { class: "late" }, surges.el, refusals.el));

  const parts = [strip(top), pools(middle), callers(list, app, params)];
  let gone = false;
  const late = [
    [surges, () => import("./panels/surges.js")],
    [refusals, () => import("./panels/refusals.js")],
  ];
  for (const [{ el, body }, load] of late) {
    load().then(
      (module) => {
        if (gone) return;
        const part = module.mount(body, app, { compact: true });
        parts.push(part);
        if (app.snapshot) part.update?.(app.snapshot);
      },
      (cause) => {
        console.error(cause);
        el.remove();
      },
    );
  }
  return {
    update(snapshot) {
      if (!quiet(snapshot)) start.replaceChildren();
      else if (!start.firstElementChild) start.append(first(app));
      for (const part of parts) part.update?.(snapshot);
    },
    unmount() {
      gone = true;
      for (const part of parts) part.unmount?.();
    },
  };
}

function panel(name, title, more) {
  const body = h("div", { class: "body" });
  return { body, el: h("section", { class: "card" }, h("header", null, h("h2", null, title), h("a", { class: "more", href: `#/${name}` }, more)), body) };
}
