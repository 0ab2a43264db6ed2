// One caller: how it stands, what it sends against what was expected, what became of it, and why.
import { h, keyed } from "../dom.js";
import { callerHead } from "./callerhead.js";
import { callerFlows } from "./callerflows.js";
import { callerRules } from "./callerrules.js";
import { curves } from "./curves.js";
import { overrideList } from "./overridelist.js";
import { empty, problemBox, section, swap } from "./parts.js";
import { refusalList } from "./refusals.js";
import { registrationItem } from "./registrationitem.js";
import { surgeList } from "./surges.js";

// mount shows the caller params.id. It is asked for anew with each snapshot, and one that there is not with each
// version of the configuration.
export function mount(root, app, params) {
  const { t } = app;
  const { id } = params;
  const fault = h("div", { role: "alert" });
  const body = h("div", { class: "p-view", "aria-busy": "true" }, h("p", { class: "empty" }, t("p.loading")));
  const node = h("div", { "data-testid": "caller-detail" }, h("a", { class: "p-back", href: "#/" }, t("p.caller.back")), fault, body);
  root.append(node);

  let parts = null;
  let asking = false;
  let gone = false;
  let unknown = 0; // the version of the configuration that has no such caller
  const ask = async () => {
    if (asking || gone || (unknown && unknown === app.snapshot?.config.version)) return;
    asking = true;
    try {
      const detail = await app.api.get("caller", { id });
      if (gone) return;
      unknown = 0;
      fault.replaceChildren();
      if (!parts) {
        parts = build(app, id);
        body.replaceChildren(...parts.nodes);
        body.removeAttribute("aria-busy");
      }
      parts.update(detail);
    } catch (err) {
      if (gone) return;
      if (err.status === 404) unknown = app.snapshot?.config.version ?? 0;
      fault.replaceChildren(problemBox(app, err));
      if (!parts) body.replaceChildren();
    } finally {
      asking = false;
    }
  };
  // What an override changes is in the next count of the flows, at most a second later.
  let hurried = 0;
  const hurry = () => {
    clearInterval(hurried);
    let left = 8;
    hurried = setInterval(() => (left-- > 0 ? ask() : clearInterval(hurried)), 200);
    ask();
  };
  addEventListener("tidegate:changed", hurry);
  ask();
  return {
    update: ask,
    unmount() {
      gone = true;
      clearInterval(hurried);
      removeEventListener("tidegate:changed", hurry);
      parts?.unmount();
      node.remove();
    },
  };
}

function build(app, id) {
  const { t } = app;
  let detail = null;
  const head = callerHead(app, id);
  const flows = callerFlows(app);
  const curve = curves(app, id);
  const surges = surgeList(app, { own: true });
  const noSurges = h("div");
  const refusals = refusalList(app, { own: true });
  const rules = callerRules(app, () => detail);
  const overrides = overrideList(app, { own: true });
  const registrations = h("ul", { class: "p-list" });
  const registered = section(t("p.caller.registrations"), registrations);
  return {
    nodes: [
      head.node,
      section(t("p.caller.flows"), flows.node),
      curve.node,
      h("div", { class: "p-columns" }, section(t("p.caller.surges"), surges.node, noSurges), section(t("p.caller.refusals"), refusals.node)),
      section(t("p.caller.rules"), h("p", { class: "soft" }, t("p.caller.rules_note")), rules.node),
      section(t("p.caller.overrides"), overrides.node),
      registered,
    ],
    update(next) {
      detail = next;
      head.update(next);
      flows.update(next.flows, next.caller.flows_total);
      curve.update(next);
      surges.fill(next.surges, next.flows);
      swap(noSurges, next.surges.length ? "some" : "none", () => (next.surges.length ? null : empty(t("p.caller.no_surges"))));
      if (!refusals.reading()) refusals.fill(next.refusals, t("p.caller.no_refusals"));
      rules.update(next.rules);
      overrides.fill(next.overrides, t("p.caller.no_overrides"));
      registered.hidden = next.registrations.length === 0;
      keyed(registrations, next.registrations, (r) => r.semantic, (r) => registrationItem(app, r, { own: true }));
    },
    unmount() {
      curve.unmount();
    },
  };
}
