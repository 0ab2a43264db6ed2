// The overview: the strip, pools, levels, callers, and the last surges and refusals.

import { h } from "./dom.js";
import { t } from "./i18n.js";

export function mount(root, app) {
  root.append(h("h1", { class: "unseen" }, t("nav.overview")));
  return {};
}
