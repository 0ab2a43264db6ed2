// Somebody else changed the configuration meanwhile: what they did, and the ways on.
import { h } from "../dom.js";
import { moment } from "../format.js";
import { busy, diffView } from "./parts.js";

export async function conflictBox(app, { mine, load, back, go }) {
  const { t } = app;
  const newest = await app.api.get("config/versions").then((list) => list[0], () => null);
  const text = h("p", null, newest
    ? t("p.conflict.by", { version: newest.version, actor: newest.actor || t("p.conflict.nobody"), time: moment(newest.time), reason: newest.reason || t("p.conflict.no_reason") })
    : t("p.conflict.somebody"));
  const choices = h("div", { class: "toolbar" });
  const button = (key, run) => {
    const el = h("button", { type: "button", "data-testid": `conflict-${key}`, onclick: () => busy(el, run) }, t(`p.conflict.${key}`));
    return el;
  };
  const node = h("section", { class: "notice warn p-conflict", role: "alert", "data-testid": "config-conflict" },
    h("div", null, h("h2", null, t("p.conflict.title")), text, h("p", null, t("p.conflict.kept")),
      newest?.diff ? h("details", null, h("summary", null, t("p.conflict.theirs")), diffView(app, newest.diff)) : null, choices));
  choices.append(
    button("load", async () => {
      await load();
      // What was written is one click away until something else is done.
      node.replaceChildren(h("div", null, h("p", null, t("p.conflict.loaded")), h("div", { class: "toolbar" }, h("button", {
        type: "button", "data-testid": "conflict-back", onclick: () => { back(mine); node.remove(); },
      }, t("p.conflict.back")))));
    }),
    button("go", go));
  return node;
}
