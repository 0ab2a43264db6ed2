// The part of the page that asks for a key and shows its caller's own numbers. The key lives in one variable, and is
// sent to the gateway that the page came from, in a header. Whatever comes back becomes text, never markup.

import { words } from "./words.js";

const lang = document.documentElement.lang === "zh" ? "zh" : "en";
const keyHeader = document.body.dataset.keyHeader;
const bearer = document.body.dataset.bearer === "true";
const every = 2000; // ms between two looks

const $ = (id) => document.getElementById(id);
const t = (name, values = {}) => words[lang][name].replace(/\{(\w+)\}/g, (whole, k) => String(values[k] ?? whole));

let key = "";
let timer = 0;
let looks = 0; // counts starts, so that an answer to an earlier key is dropped
let seen = null; // time of the last good answer

// h makes an element.
function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "onclick") element.addEventListener("click", value);
    else if (value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

// ask sends one request; it throws the problem that was answered, or nothing but a title where nobody answered.
async function ask(method, path, body) {
  const headers = { [keyHeader]: bearer ? `Bearer ${key}` : key, "Accept-Language": lang };
  if (body) headers["Content-Type"] = "application/json";
  let answer;
  try {
    answer = await fetch(`v1/${path}`, { method, headers, body: body && JSON.stringify(body), cache: "no-store", credentials: "omit", referrerPolicy: "no-referrer" });
  } catch {
    throw { status: 0, detail: t("say.unreachable") };
  }
  const text = await answer.text();
  let json = null;
  try {
    json = text ? JSON.parse(text) : null;
  } catch {
    // somebody in between answered
  }
  if (!answer.ok) throw { status: answer.status, code: json?.code, detail: json?.detail ?? `${answer.status}`, after: json?.retry_after_ms ?? 0 };
  return json;
}

function say(id, text, bad = false) {
  const at = $(id);
  if (at.textContent !== text) at.textContent = text;
  at.classList.toggle("bad", bad);
}

function duration(ms) {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${+(ms / 1000).toFixed(1)} s`;
  if (ms < 5_400_000) return `${+(ms / 60_000).toFixed(1)} min`;
  return `${+(ms / 3_600_000).toFixed(1)} h`;
}

const number = (n) => new Intl.NumberFormat(lang).format(n);
const clock = (time) => new Intl.DateTimeFormat(lang, { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false }).format(new Date(time));

// look asks for the numbers, and again in a while.
async function look(mine = looks) {
  clearTimeout(timer);
  let pause = every;
  try {
    const [me, list] = await Promise.all([ask("GET", "me"), ask("GET", "semantics")]);
    if (mine !== looks) return;
    seen = Date.now();
    say("message", "");
    show(me, list.semantics);
  } catch (problem) {
    if (mine !== looks) return;
    const gone = problem.status === 401 || problem.status === 403 || problem.status === 404;
    if (gone) {
      forget();
      say("message", problem.detail, true);
      return;
    }
    pause = Math.max(every, problem.after ?? 0) * (1 + Math.random() / 5);
    say("message", seen ? `${problem.detail} ${t("say.stale", { time: clock(seen) })}` : problem.detail, true);
  }
  timer = setTimeout(() => (document.hidden ? wake(mine) : look(mine)), pause);
}

// wake goes on when somebody looks at the page again.
function wake(mine) {
  document.addEventListener("visibilitychange", () => mine === looks && look(mine), { once: true });
}

function show(me, semantics) {
  $("mine").hidden = false;
  $("who").textContent = me.name && me.name !== me.caller ? `${me.name} (${me.caller})` : me.caller;
  const facts = [t("facts.plan", { plan: me.plan })];
  if (me.caller_rate) facts.push(t("facts.rate", { rate: me.caller_rate }));
  if (me.off_peak) facts.push(t("facts.quiet", me.off_peak));
  $("facts").textContent = facts.join(" ");
  replace("uses", me.semantics.length ? me.semantics.map(use) : [h("p", {}, t("use.none"))]);
  replace("registrations", [registrations(semantics.filter((s) => s.semantic !== "default"))]);
  replace("refusals", [refusals(me.refusals)]);
}

// replace leaves what is the same where it is, so that neither focus nor a selection is lost every two seconds.
function replace(id, elements) {
  const at = $(id);
  for (const [i, fresh] of elements.entries()) {
    const old = at.children[i];
    if (!old) at.append(fresh);
    else if (!old.isEqualNode(fresh)) old.replaceWith(fresh);
  }
  while (at.children.length > elements.length) at.lastElementChild.remove();
}

function use(s) {
  const percent = Math.round(s.occupancy * 100);
  const figures = [
    ["use.rate", s.rate],
    ["use.remaining", number(s.remaining)],
    ["use.wait", duration(s.max_wait_ms)],
    ["use.flight", number(s.in_flight)],
    ["use.waiting", number(s.waiting)],
    ["use.admitted", number(s.admitted)],
    ["use.refused", number(s.refused)],
  ];
  if (s.reset_ms > 0) figures.splice(2, 0, ["use.reset", duration(s.reset_ms)]);
  const name = s.route ? `${s.semantic} · ${s.route}` : s.semantic;
  const bar = h("progress", { max: 100, value: Math.min(percent, 100), "aria-label": t("use.bar", { semantic: name, percent }), class: percent >= 100 ? "full" : percent >= 80 ? "much" : "" });
  return h(
    "section",
    { class: "card" },
    h("h4", {}, name, h("small", {}, t("use.level", { level: s.level })), s.off ? status(s.status) : ""),
    s.off ? h("p", { class: "hint" }, t("use.off")) : bar,
    h("dl", {}, ...figures.map(([label, value]) => h("div", {}, h("dt", {}, t(label)), h("dd", {}, value)))),
  );
}

const status = (name) => h("span", { class: `status ${name}` }, t(`status.${name}`));

function table(label, heads, rows) {
  for (const row of rows) {
    // On a narrow screen the cells stand below each other, each with its head.
    for (const [i, cell] of [...row.children].entries()) if (cell.tagName === "TD" && !cell.querySelector("button")) cell.setAttribute("data-label", heads[i]);
  }
  return h(
    "div",
    { class: "wide", role: "region", "aria-label": label, tabindex: "0" },
    h("table", { class: "stack" }, h("thead", {}, h("tr", {}, ...heads.map((x) => h("th", { scope: "col" }, x)))), h("tbody", {}, ...rows)),
  );
}

function registrations(list) {
  if (list.length === 0) return h("p", {}, t("reg.none"));
  const rows = list.map((s) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, h("code", {}, s.semantic)),
      h("td", {}, s.source === "configuration" ? t("reg.given") : s.description),
      h("td", { class: "number" }, s.expected_rate),
      h("td", {}, status(s.status), s.reason ? ` ${s.reason}` : ""),
      h("td", {}, s.source === "configuration" ? "" : h("button", { type: "button", class: "quiet", "aria-label": t("reg.removeOf", s), "data-semantic": s.semantic }, t("reg.remove"))),
    ),
  );
  return table(t("reg.semantic"), [t("reg.semantic"), t("reg.description"), t("reg.rate"), t("reg.status"), t("reg.remove")], rows);
}

function refusals(list) {
  if (list.length === 0) return h("p", {}, t("refusal.none"));
  const rows = list.map((r) => {
    const numbers = [];
    if (r.limit > 0) numbers.push(t("refusal.left", r));
    if (r.waited_ms > 0) numbers.push(t("refusal.waited", { time: duration(r.waited_ms) }));
    if (r.estimate_ms > 0) numbers.push(t("refusal.estimate", { time: duration(r.estimate_ms) }));
    if (r.max_wait_ms > 0 && (r.waited_ms > 0 || r.estimate_ms > 0)) numbers.push(t("refusal.may", { time: duration(r.max_wait_ms) }));
    return h(
      "tr",
      {},
      h("td", { class: "number" }, clock(r.time)),
      h("th", { scope: "row" }, h("code", {}, r.code)),
      h("td", {}, r.semantic),
      h("td", {}, numbers.join(", ")),
      h("td", { class: "number" }, r.retry_after_ms > 0 ? duration(r.retry_after_ms) : ""),
      h("td", { class: "number" }, h("code", {}, r.request_id)),
    );
  });
  return table(t("refusal.code"), ["time", "code", "semantic", "numbers", "back", "id"].map((x) => t(`refusal.${x}`)), rows);
}

function forget() {
  key = "";
  looks++;
  seen = null;
  clearTimeout(timer);
  $("key").value = "";
  $("forget").hidden = true;
  $("mine").hidden = true;
  for (const id of ["uses", "registrations", "refusals"]) $(id).replaceChildren();
  for (const id of ["message", "register-message"]) say(id, "");
}

$("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  const given = $("key").value.trim();
  if (given === "") return;
  forget();
  key = given;
  $("forget").hidden = false;
  say("message", t("say.loading"));
  look();
});

$("forget").addEventListener("click", () => {
  forget();
  $("key").focus();
});

// One listener for all buttons of the table, so that rows can be compared and kept.
$("registrations").addEventListener("click", async (event) => {
  const semantic = event.target.closest("button")?.dataset.semantic;
  if (!semantic) return;
  try {
    const left = await ask("DELETE", `semantics/${encodeURIComponent(semantic)}`);
    say("register-message", left ? t("reg.done.refused", { semantic }) : t("reg.gone", { semantic }));
    look();
  } catch (problem) {
    say("register-message", problem.detail, true);
  }
});

$("register-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const semantic = $("semantic").value.trim();
  const body = { description: $("description").value, expected_rate: $("rate").value.trim() };
  try {
    const done = await ask("PUT", `semantics/${encodeURIComponent(semantic)}`, body);
    const text = t(done.status === "active" ? "reg.done.active" : "reg.done.waiting", { semantic });
    say("register-message", done.kept ? text : `${text} ${t("reg.unkept")}`);
    event.target.reset();
    look();
  } catch (problem) {
    say("register-message", problem.detail, true);
  }
});
