// Overrides are set and taken back here, and each of the two offers to be undone.
import { h } from "../dom.js";
import { moment } from "../format.js";
import { icon } from "../icons.js";

// setOverride makes an override. before is the one of its name that it replaces, or null; said is what is
// told when it is done.
export async function setOverride(app, { name, value, reason, ends }, before, said) {
  const made = await app.api.post("overrides", { name, value, ...(reason ? { reason } : {}), ...ends });
  changed();
  undoable(app, name, withNotes(said ?? app.t("p.action.done", { name, value: String(value) }), made), async () => {
    await (before && lasting(before) ? restore(app, before) : remove(app, name, app.t("p.undo_reason")));
  });
  return made;
}

// dropOverride takes one back.
export async function dropOverride(app, override, reason) {
  const made = await remove(app, override.name, reason);
  changed();
  const said = withNotes(app.t("p.action.dropped", { name: override.name }), made);
  if (lasting(override)) undoable(app, override.name, said, () => restore(app, override));
  else app.toast(said, "good");
  return made;
}

// changed tells the views that are open, so that none of them waits for the next snapshot.
function changed() {
  dispatchEvent(new Event("tidegate:changed"));
}

function lasting(override) {
  return !override.until || new Date(override.until) > new Date();
}

function restore(app, o) {
  return app.api.post("overrides", {
    name: o.name, value: o.value, ...(o.reason ? { reason: o.reason } : {}), ...(o.until ? { until: o.until } : {}),
  });
}

function remove(app, name, reason) {
  // Without a content type no write of a browser is taken, so that no form of another page can make one.
  return app.api.del("overrides", { name, reason }, { headers: { "Content-Type": "application/json" } });
}

function withNotes(said, made) {
  return [said, ...(made?.notes ?? [])].join(" ");
}

// shownFor is how long a message can be undone from; it stays while the pointer or the focus is on it.
const shownFor = 12_000;

// undoable says what was done and offers to undo it. What was said of the same override before goes: there is
// nothing left of it to undo.
function undoable(app, name, said, undo) {
  const list = document.getElementById("toasts");
  for (const other of [...list.children]) if (other.dataset.override === name) other.remove();
  let timer = 0;
  const wait = () => {
    clearTimeout(timer);
    timer = setTimeout(() => (node.matches(":hover, :focus-within") ? wait() : node.remove()), shownFor);
  };
  const remove = () => {
    clearTimeout(timer);
    node.remove();
  };
  const button = h("button", {
    type: "button", class: "p-small", "data-testid": "toast-undo",
    onclick: async () => {
      button.disabled = true;
      try {
        await undo();
        changed();
        app.toast(app.t("p.undone"), "good");
      } catch (err) {
        app.toast(err.detail || app.t("p.failed_unreachable"), "bad");
      }
      remove();
    },
  }, app.t("p.undo"));
  const node = h("div", { class: "toast good", "data-testid": "toast", "data-override": name }, icon("good"), h("span", null, said), button,
    h("button", { class: "bare", type: "button", "aria-label": app.t("p.close"), onclick: remove }, icon("bad")));
  list.append(node);
  wait();
}

export function untilText(app, until) {
  return until ? app.t("p.until", { time: moment(until) }) : app.t("p.until_undone");
}
