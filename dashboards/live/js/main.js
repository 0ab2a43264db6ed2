// Boot and routes.
//
// A view is a module with mount(root, app, params), which answers { update(snapshot), unmount() }, either of which may be
// missing. params has what the address says: #/callers/acme?from=x is the view "callers" with { id: "acme", from: "x" }. On
// the overview, surges.js and refusals.js are mounted with { compact: true }: the last few, without search.
//
// app, given to every view:
//   t(key, vars), lang          texts; a change of language mounts the view anew
//   api                         see api.js
//   session                     { name, role, login, gateway }
//   snapshot                    the last one; null before the first
//   go(hash, { replace })       to another address
//   toast(text, kind)           good, info, warn or bad
//   can(role)                   whether whoever looks is viewer, operator or owner at least
//   format                      see format.js
//   say(text)                   speaks to those who listen
// Before the page reloads itself for a newer version, window gets a cancelable event "tidegate:reload": a view with
// something unsaved prevents it, and the top bar offers the reload instead.

import { api, onLost } from "./api.js";
import { fill, h } from "./dom.js";
import * as format from "./format.js";
import { language, preferred, speak, t } from "./i18n.js";
import { notices } from "./notices.js";
import { remember } from "./past.js";
import { announcer } from "./spoken.js";
import { stream } from "./stream.js";
import { toast } from "./toast.js";
import { topbar } from "./topbar.js";

const views = {
  "": () => import("./overview.js"),
  callers: () => import("./panels/caller.js"),
  surges: () => import("./panels/surges.js"),
  refusals: () => import("./panels/refusals.js"),
  config: () => import("./panels/config.js"),
  overrides: () => import("./panels/overrides.js"),
  registrations: () => import("./panels/registrations.js"),
  alerts: () => import("./panels/alerts.js"),
  audit: () => import("./panels/audit.js"),
};
const roles = ["viewer", "operator", "owner"];

const app = {
  t,
  api,
  format,
  toast,
  lang: language,
  session: { name: "", role: "viewer", login: false },
  snapshot: null,
  can: (role) => roles.indexOf(app.session.role) >= roles.indexOf(role),
  go(hash, { replace = false } = {}) {
    if (!replace) location.hash = hash;
    else if (hash !== location.hash) {
      history.replaceState(null, "", hash);
      current.hash = hash;
    }
  },
  say: (text) => {
    const line = h("p", null, text);
    document.getElementById("spoken").append(line);
    setTimeout(() => line.remove(), 10000);
  },
};

const announce = announcer(app.say);
const root = document.getElementById("view");
const current = { view: null, name: "", hash: null, turn: 0 };
let top = null;
let notice = null;

// place reads an address: { name, params }.
function place(hash) {
  const [path, query] = hash.replace(/^#\/?/, "").split("?");
  const [name, ...rest] = path.split("/").map(decodeURIComponent);
  const params = Object.fromEntries(new URLSearchParams(query));
  if (rest.length && rest[0] !== "") params.id = rest.join("/");
  if (!Object.hasOwn(views, name) || (name === "callers" && !params.id)) return { name: "", params };
  return { name, params };
}

async function route(moved) {
  const hash = location.hash;
  if (moved && hash === current.hash) return;
  current.hash = hash;
  const turn = ++current.turn;
  const { name, params } = place(hash);
  let module;
  try {
    module = await views[name]();
  } catch (cause) {
    console.error(cause);
    module = { mount: (el) => fill(el, h("p", { class: "sorry" }, t("view.lost"))) && {} };
  }
  if (turn !== current.turn) return;
  attempt(() => current.view?.unmount?.());
  root.replaceChildren();
  root.className = `view-${name || "overview"}`;
  current.name = name;
  current.view = null;
  current.view = attempt(() => module.mount(root, app, params)) ?? null;
  top.at(name);
  titled();
  if (moved) {
    scrollTo(0, 0);
    root.focus({ preventScroll: true });
  }
  if (app.snapshot) attempt(() => current.view?.update?.(app.snapshot));
}

// attempt keeps one broken view from taking the page down with it.
function attempt(f) {
  try {
    return f();
  } catch (cause) {
    console.error(cause);
    return undefined;
  }
}

function titled() {
  const surging = app.snapshot?.totals.surging ?? 0;
  const title = t(`nav.${current.name || "overview"}`);
  document.title = `${surging ? `(${surging}) ` : ""}${title} · tidegate`;
}

function onSnapshot(snapshot) {
  if (app.snapshot && snapshot.version !== app.snapshot.version) renew();
  app.snapshot = snapshot;
  remember(snapshot);
  announce(snapshot);
  attempt(() => top.update(snapshot));
  attempt(() => notice.update(snapshot));
  attempt(() => current.view?.update?.(snapshot));
  titled();
}

// renew fetches the page of a newer gateway, or offers it where that would lose something.
function renew() {
  if (dispatchEvent(new Event("tidegate:reload", { cancelable: true }))) location.reload();
  else top.offerReload();
}

// dress makes all that is not the view; again after a change of language.
function dress() {
  app.lang = language;
  top = topbar(document.getElementById("top"), app, { speak: async (lang) => (await speak(lang, true), dress()) });
  notice = notices(document.getElementById("notices"), app);
  if (app.connection) top.connection(app.connection);
  if (app.snapshot) {
    top.update(app.snapshot);
    notice.update(app.snapshot);
  }
  return route(false);
}

async function boot() {
  const [, session] = await Promise.all([speak(preferred()), api.get("session").catch(() => null)]);
  if (session) Object.assign(app.session, session);
  onLost(() => app.session.login && location.reload());
  await dress();
  addEventListener("hashchange", () => route(true));
  stream({
    onSnapshot,
    onState(state) {
      // The gateway may be another one after a break, and so may be what we are allowed to.
      if (state.state === "connected" && app.connection?.state === "disconnected") {
        api.get("session").then((s) => Object.assign(app.session, s) && top.who(), () => {});
      }
      app.connection = state;
      document.documentElement.dataset.conn = state.state;
      top.connection(state);
    },
  });
}

boot();
