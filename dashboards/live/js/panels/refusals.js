// The last refusals, searched by caller, request and code. Each opens its explanation.
import { h, keyed, setText } from "../dom.js";
import { refusal, numbers } from "./tell.js";
import { callerLink, empty, later, problemBox, when } from "./parts.js";

const codes = ["rate_exceeded", "wait_too_long", "wait_expired", "queue_full", "displaced", "too_many_in_flight", "address_limited",
  "caller_unknown", "caller_disabled", "quota_exhausted", "route_unknown", "tenant_missing", "bad_request", "body_slow", "body_too_large",
  "headers_too_large", "no_upstream", "draining"];

// mount shows the list. With params.compact it is the last few of the snapshot, without title and search.
export function mount(root, app, params = {}) {
  return params.compact ? compact(root, app) : full(root, app, params);
}

function compact(root, app) {
  const { t } = app;
  const list = refusalList(app);
  root.append(list.node);
  const show = (snapshot) => {
    if (!list.reading()) list.fill((snapshot?.refusals ?? []).slice(0, 6), t("p.refusals.none"));
  };
  show(app.snapshot);
  return { update: show, unmount: () => list.node.remove() };
}

function full(root, app, params) {
  const { t } = app;
  const caller = field("text", params.caller, "refusals-caller");
  const request = field("text", params.request_id, "refusals-request");
  const code = h("select", { "data-testid": "refusals-code" }, h("option", { value: "" }, t("p.any")), ...codes.map((c) => h("option", { value: c }, c)));
  if (codes.includes(params.code)) code.value = params.code;
  const count = h("p", { class: "soft", role: "status" });
  const fault = h("div", { role: "alert" });
  const list = refusalList(app);
  const node = h("div", { class: "p-view" },
    h("h1", null, t("p.refusals.title")),
    h("p", { class: "p-lead" }, t("p.refusals.lead")),
    h("form", { class: "p-filters", role: "search" },
      label(t("p.refusals.caller"), caller), label(t("p.refusals.request"), request), label(t("p.refusals.code"), code)),
    count, fault, list.node);
  root.append(node);

  let asking = false;
  let again = false;
  let gone = false;
  const searched = () => Boolean(caller.value || request.value || code.value);
  const ask = async () => {
    if (asking) {
      again = true;
      return;
    }
    asking = true;
    try {
      const found = await app.api.get("refusals", { caller: caller.value.trim(), request_id: request.value.trim(), code: code.value, limit: 200 });
      if (gone) return;
      fault.replaceChildren();
      list.fill(found, t(searched() ? "p.refusals.none_found" : "p.refusals.none"));
      setText(count, found.length ? t("p.refusals.count", { n: found.length }) : "");
    } catch (err) {
      if (!gone) fault.replaceChildren(problemBox(app, err));
    } finally {
      asking = false;
      if (again && !gone) {
        again = false;
        ask();
      }
    }
  };
  const typed = later(250, ask);
  node.querySelector("form").addEventListener("submit", (event) => { event.preventDefault(); ask(); });
  for (const input of [caller, request]) input.addEventListener("input", typed);
  code.addEventListener("change", ask);
  ask();

  let newest = app.snapshot?.refusals?.[0]?.request_id;
  return {
    // A search is asked anew only where there is something new, and never while one reads an explanation.
    update(snapshot) {
      const latest = snapshot.refusals?.[0]?.request_id;
      if (latest === newest || list.reading()) return;
      newest = latest;
      ask();
    },
    unmount() {
      gone = true;
      typed.cancel();
      node.remove();
    },
  };
}

function field(type, value, testid) {
  const input = h("input", { type, autocomplete: "off", spellcheck: "false", "data-testid": testid });
  input.value = value ?? "";
  return input;
}

function label(text, input) {
  return h("label", { class: "p-field" }, h("span", null, text), input);
}

// refusalList is a list of refusals that open. With own, the caller is not named.
export function refusalList(app, { own = false } = {}) {
  const list = h("ul", { class: "p-list", "data-testid": "refusal-list" });
  const node = h("div", null, list);
  let none = null;
  return {
    node,
    reading: () => list.querySelector("details[open]") !== null,
    fill(refusals, nothing) {
      keyed(list, refusals, (r) => `${r.time} ${r.request_id}`, (r) => item(app, r, own));
      none?.remove();
      none = refusals.length ? null : empty(nothing);
      if (none) node.append(none);
    },
  };
}

function item(app, r, own) {
  const { t } = app;
  const body = h("div", { class: "p-item-body" });
  const details = h("details", { class: r.observed ? "p-item" : "p-item p-item-refused" },
    h("summary", null,
      h("span", { class: "p-item-line" }, when(r.time), own ? null : h("b", null, r.caller || t("p.refusals.nobody")), h("span", null, r.semantic), h("code", null, r.code)),
      h("span", { class: "p-told" }, refusal(app, r))),
    body);
  // Made when it is opened: most never are.
  details.addEventListener("toggle", () => {
    if (!details.open || body.childNodes.length) return;
    body.append(
      h("dl", { class: "p-facts" }, ...numbers(app, r).flatMap(([name, value]) => [h("dt", null, name), h("dd", null, value)])),
      h("p", { class: "soft" }, t("p.refusals.request_id"), " ", h("code", null, r.request_id)),
      ...(r.within_rate && !r.observed ? [h("p", { class: "p-warn" }, t("p.refusals.within_rate"))] : []),
      ...(r.caller && !own ? [h("p", null, t("p.refusals.see"), " ", callerLink(r.caller))] : []));
  });
  return h("li", null, details);
}
