// The versions of the configuration: who brought each, why, what it changed, and the way back to it.
import { h, keyed } from "../dom.js";
import { openDialog } from "./dialog.js";
import { diffView, empty, problemBox, swap, when } from "./parts.js";

// versionList shows them. changed is called after a rollback; draft says whether something is being written.
export function versionList(app, { changed, draft }) {
  const { t } = app;
  const list = h("ol", { class: "p-list", "data-testid": "version-list" });
  const nothing = h("div", { role: "status" }, empty(t("p.loading")));
  let newest = 0;
  let asked = app.snapshot?.config.version;
  const ask = async () => {
    try {
      const versions = await app.api.get("config/versions");
      newest = versions[0]?.version ?? 0;
      swap(nothing, String(versions.length > 0), () => (versions.length ? null : empty(t("p.versions.none"))));
      const text = versions[0]?.hash;
      keyed(list, versions.map((v) => ({ ...v, same: v.hash === text })), (v) => v.version, (v) => item(app, v, rollback));
    } catch (err) {
      swap(nothing, `fault ${Date.now()}`, () => problemBox(app, err));
    }
  };
  // rollback shows what it would change before it does it.
  const rollback = async (v) => {
    let diff;
    try {
      const [then, now] = await Promise.all([app.api.request("GET", "config", { params: { version: v.version } }), app.api.request("GET", "config")]);
      const answer = await app.api.post("config/check", { config: then.data });
      diff = [diffView(app, answer.diff)];
      openDialog(app, {
        title: t("p.versions.rollback_title", { version: v.version }), reason: "", wide: true, submit: t("p.versions.rollback_submit", { version: v.version }),
        body: [h("p", null, t("p.versions.rollback_note")), draft() ? h("p", { class: "p-warn" }, t("p.versions.draft")) : null, diff],
        onSubmit: async (reason) => {
          const made = await app.api.post("config/rollback", { version: v.version, ...(reason ? { reason } : {}) }, { headers: { "If-Match": now.etag } });
          app.toast([t("p.versions.rolled_back", { from: v.version, version: made.version }), ...(made.notes ?? [])].join(" "), "good");
          changed();
          ask();
        },
      });
    } catch (err) {
      openDialog(app, { title: t("p.versions.rollback_title", { version: v.version }), body: problemBox(app, err) });
    }
  };
  ask();
  return {
    node: h("div", null, nothing, list),
    ask,
    update(snapshot) {
      if (snapshot.config.version === asked || snapshot.config.version === newest) return;
      asked = snapshot.config.version;
      ask();
    },
  };
}

function item(app, first, rollback) {
  const { t } = app;
  const node = h("li", { "data-testid": `version-${first.version}` });
  node.update = (v) => swap(node, `${v.current} ${v.same} ${app.can("owner")}`, () => [
    h("details", { class: v.current ? "p-item p-item-now" : "p-item" },
      h("summary", null,
        h("span", { class: "p-item-line" }, h("b", null, t("p.versions.number", { version: v.version })), when(v.time), h("span", null, v.actor || "–"),
          h("span", { class: "chip" }, t(`p.versions.source.${v.source}`)), v.current ? h("span", { class: "chip p-now" }, t("p.versions.now")) : null),
        v.reason ? h("span", { class: "p-told" }, v.reason) : null),
      h("div", { class: "p-item-body" },
        h("p", { class: "soft" }, [v.from ? t("p.audit.from", { from: v.from }) : "", t("p.versions.hash", { hash: v.hash.slice(0, 12) }), v.overrides?.length ? t("p.versions.overrides", { n: v.overrides.length }) : ""].filter(Boolean).join(" · ")),
        diffView(app, v.diff))),
    app.can("owner") && !v.same ? h("button", { type: "button", class: "p-small p-item-do", "data-testid": `version-${v.version}-rollback`, onclick: () => rollback(v) }, t("p.versions.rollback")) : null,
  ]);
  return node;
}
