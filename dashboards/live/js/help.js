// What the keys do, and what the signs mean.

import { h } from "./dom.js";
import { t } from "./i18n.js";
import { icon } from "./icons.js";

const keys = [
  ["/", "help.search"],
  ["↑ ↓", "help.arrows"],
  ["PgUp PgDn", "help.pages"],
  ["Home End", "help.ends"],
  ["Enter", "help.enter"],
  ["Esc", "help.escape"],
  ["?", "help.help"],
];
const standings = ["surging", "throttled", "waiting", "excess", "paused", "calm"];

export function showHelp() {
  document.querySelector("dialog.help")?.remove();
  const dialog = h(
    "dialog",
    { class: "help", "aria-labelledby": "help-title" },
    h("h2", { id: "help-title" }, t("help.title")),
    h("dl", { class: "keys" }, keys.map(([key, what]) => [h("dt", null, key.split(" ").map((k) => h("kbd", null, k))), h("dd", null, t(what))])),
    h("h3", null, t("help.standings")),
    h("dl", { class: "signs" }, standings.map((s) => [h("dt", { class: `standing ${s}` }, icon(s), t(`standing.${s}`)), h("dd", null, t(`standing.${s}.what`))])),
    h("form", { method: "dialog" }, h("button", { class: "quiet" }, t("close"))),
  );
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  document.body.append(dialog);
  dialog.showModal();
}

// typing says whether a key is meant for what is being written.
export const typing = (event) =>
  event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.target.closest?.("input, textarea, select, [contenteditable], dialog") !== null;

addEventListener("keydown", (event) => {
  if (event.key !== "?" || typing(event)) return;
  event.preventDefault();
  showHelp();
});
