// The choices of the actions that move, pause and resume a caller.
import { h } from "../dom.js";
import { count } from "../format.js";

export function poolChoice(app, { detail }) {
  const { t } = app;
  const now = detail.caller.pool;
  const pools = app.snapshot?.pools ?? [];
  const select = h("select", { "data-testid": "action-pool-select" }, ...pools.map((p) => h("option", { value: p.name },
    t("p.action.pool.option", { pool: p.name, used: count(p.in_use), seats: count(p.seats), waiting: count(p.waiting) }))));
  select.value = pools.find((p) => p.name !== now)?.name ?? now;
  const node = h("div", null,
    h("p", null, t("p.action.pool.now", { pool: now })),
    h("label", { class: "p-field" }, h("span", null, t("p.action.pool.label")), select),
    h("p", { class: "soft" }, t("p.action.pool.note")));
  return {
    node,
    choice: () => (select.value === now || !select.value ? null : {
      name: `callers.${detail.caller.id}.pool`, value: select.value, was: now, submit: t("p.action.pool.submit_to", { pool: select.value }),
      said: t("p.action.pool.said", { caller: detail.caller.id, pool: select.value }),
    }),
    why: () => t(pools.length < 2 ? "p.action.pool.only" : "p.action.pool.same", { pool: now }),
  };
}

export function pauseChoice(app, { detail }) {
  const { t } = app;
  const { id, enabled, in_flight: running, waiting } = detail.caller;
  return {
    node: h("p", null, t("p.action.pause.note", { running: count(running), waiting: count(waiting) })),
    choice: () => (enabled ? { name: `callers.${id}.enabled`, value: false, was: "true", said: t("p.action.pause.said", { caller: id }) } : null),
    why: () => t("p.action.pause.already", { caller: id }),
  };
}

// A pause by override is taken back; one by the file is overridden.
export function resumeChoice(app, { detail, overrides }) {
  const { t } = app;
  const { id, enabled } = detail.caller;
  const name = `callers.${id}.enabled`;
  const paused = overrides.find((o) => o.name === name && o.value === "false" && !o.aside);
  return {
    node: h("p", null, t(paused ? "p.action.resume.note" : "p.action.resume.note_file")),
    choice: () => (enabled ? null : { name, value: true, drop: Boolean(paused), was: "false", said: t("p.action.resume.said", { caller: id }) }),
    why: () => t("p.action.resume.already", { caller: id }),
  };
}
