// Short words in a corner: what came of something. Errors stay until they are closed.

import { h } from "./dom.js";
import { icon } from "./icons.js";
import { t } from "./i18n.js";

const LASTS = 6000; // ms
const MOST = 4;

// toast shows text; kind is good (the default), info, warn or bad.
export function toast(text, kind = "good") {
  const list = document.getElementById("toasts");
  const close = () => {
    clearTimeout(timer);
    el.remove();
  };
  const el = h(
    "div",
    { class: `toast ${kind}`, "data-testid": "toast", role: kind === "bad" ? "alert" : null },
    icon(kind),
    h("span", null, text),
    h("button", { class: "bare", type: "button", "aria-label": t("close"), onclick: close }, icon("bad")),
  );
  const timer = kind === "bad" ? 0 : setTimeout(close, LASTS);
  list.append(el);
  while (list.children.length > MOST) list.firstElementChild.remove();
}
