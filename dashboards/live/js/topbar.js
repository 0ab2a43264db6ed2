// The bar at the top of every view: where one is, whether what is shown is live, language, theme, and who one is.

import { api } from "./api.js";
import { fill, h, setAttr, setText } from "./dom.js";
import { showHelp } from "./help.js";
import { language, languages, t } from "./i18n.js";
import { icon, wave } from "./icons.js";
import { choose, theme, themes } from "./theme.js";

const links = ["overview", "surges", "refusals", "config", "overrides", "registrations", "alerts", "audit"];
const needs = { audit: "operator" };
const signs = { connected: "good", connecting: "old", old: "old", disconnected: "bad" };

export function topbar(root, app, { speak }) {
  const nav = {};
  const badges = {};
  for (const name of links) {
    if (needs[name] && !app.can(needs[name])) continue;
    badges[name] = h("span", { class: "badge", hidden: true });
    nav[name] = h("a", { href: name === "overview" ? "#/" : `#/${name}` }, t(`nav.${name}`), badges[name]);
  }
  const menu = h("nav", { id: "menu", "aria-label": t("nav.label") }, Object.values(nav), app.session.login && h("button", { class: "bare leave", type: "button", onclick: logout }, t("session.leave")));
  const menuButton = h(
    "button",
    { class: "bare menu-button", type: "button", "aria-expanded": "false", "aria-controls": "menu", "aria-label": t("nav.menu"), onclick: () => open(!menu.classList.contains("open")) },
    icon("menu"),
  );
  const open = (yes) => {
    menu.classList.toggle("open", yes);
    setAttr(menuButton, "aria-expanded", String(yes));
  };
  menu.addEventListener("click", () => open(false));

  const sign = h("span", { class: "sign" });
  const words = h("span");
  const conn = h("span", { class: "conn", "data-testid": "conn-state", role: "status" }, sign, words);
  const reload = h("button", { class: "quiet", type: "button", hidden: true, onclick: () => location.reload() }, t("conn.reload"));

  const other = languages[(languages.indexOf(language) + 1) % languages.length];
  const lang = h("button", { class: "bare", type: "button", "data-testid": "lang", lang: t("lang.other_tag"), onclick: () => speak(other) }, t("lang.other"));
  const themeButton = h("button", { class: "bare", type: "button", "data-testid": "theme", onclick: () => (choose(themes[(themes.indexOf(theme()) + 1) % themes.length]), themed()) });
  const themed = () => {
    const label = t("theme.label", { theme: t(`theme.${theme()}`) });
    fill(themeButton, icon(theme()));
    setAttr(themeButton, "aria-label", label);
    setAttr(themeButton, "title", label);
  };
  themed();
  const help = h("button", { class: "bare", type: "button", "aria-label": t("help.open"), title: t("help.open"), onclick: () => showHelp() }, icon("help"));
  const me = h("span", { class: "me" });
  const leave = h("button", { class: "bare", type: "button", hidden: true, onclick: logout }, t("session.leave"));
  const who = () => {
    const { name, role, login } = app.session;
    setText(me, name ? t("session.who", { name, role: t(`role.${role}`) }) : "");
    leave.hidden = !login;
  };
  who();

  fill(
    root,
    h(
      "header",
      { class: "topbar" },
      h("a", { class: "skip", href: "#view", onclick: skip }, t("nav.skip")),
      h("a", { class: "home", href: "#/", "aria-label": "tidegate" }, wave(), h("span", null, "tidegate")),
      menuButton,
      menu,
      h("div", { class: "tools" }, conn, reload, h("span", { class: "who" }, me, leave), help, themeButton, lang),
    ),
  );

  return {
    who,
    at(name) {
      for (const [n, a] of Object.entries(nav)) setAttr(a, "aria-current", n === (name || "overview") ? "page" : null);
      open(false);
    },
    update(snapshot) {
      badge(badges.surges, snapshot.totals.surging, "nav.surging_now");
      badge(badges.registrations, snapshot.registrations_waiting, "nav.registrations_waiting");
    },
    connection({ state, ageS }) {
      root.dataset.state = conn.dataset.state = state;
      fill(sign, icon(signs[state]));
      setText(words, ageS === null || state === "connected" ? t(`conn.${state}`) : t(`conn.${state}_since`, { n: ageS }));
    },
    offerReload() {
      reload.hidden = false;
    },
  };
}

const logout = () => api.del("session").finally(() => location.reload());

function badge(el, n, key) {
  el.hidden = !n;
  setText(el, n || "");
  setAttr(el, "title", n ? t(key, { n }) : null);
  setAttr(el, "aria-label", n ? t(key, { n }) : null);
}

// The address is the view's, so a link to a place on the page may not change it.
function skip(event) {
  event.preventDefault();
  document.getElementById("view").focus();
}
