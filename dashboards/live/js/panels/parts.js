// Small parts that every panel is put together from.
import { fill, h } from "../dom.js";
import { moment, none } from "../format.js";
import { icon } from "../icons.js";

// section is a part of a view under a heading.
export function section(title, ...children) {
  return h("section", { class: "card" }, h("header", null, h("h2", null, title)), h("div", { class: "body" }, ...children));
}

export function empty(text) {
  return h("p", { class: "empty" }, text);
}

// problemBox says what the API refused and why, in its own words.
export function problemBox(app, err) {
  const text = err?.detail || (err?.status ? app.t("p.failed_status", { status: err.status }) : app.t("p.failed_unreachable"));
  return h("p", { class: "p-problem" }, text, err?.code ? h("code", { class: "p-fault-code" }, err.code) : null);
}

// when is a moment that a machine can read too.
export function when(value) {
  return value ? h("time", { datetime: value, title: new Date(value).toString() }, moment(value)) : none;
}

// callerLink leads to a caller's own view; without an id it is a dash.
export function callerLink(id) {
  return id ? h("a", { href: callerHref(id) }, id) : h("span", { class: "soft" }, none);
}

export function callerHref(id) {
  return `#/callers/${encodeURIComponent(id)}`;
}

// standingBadge is a word with a mark, so that it says the same without its colour.
export function standingBadge(app, name) {
  const word = name || "calm";
  return h("span", { class: `standing ${word}` }, icon(word), app.t(`standing.${word}`));
}

// bar is a share of a whole: its length for the eye, its number for everybody.
export function bar(share, text, standing) {
  const fill = h("span", { class: `p-bar-fill p-is-${standing || "calm"}` });
  fill.style.width = `${Math.min(100, Math.max(0, share * 100))}%`;
  return h("span", { class: "p-bar" }, h("span", { class: "p-bar-track", "aria-hidden": "true" }, fill), h("span", { class: "p-bar-text" }, text));
}

// table has a caption for whoever cannot see where it stands. Each column is {key, title, number}.
export function table(caption, columns) {
  const body = h("tbody", null);
  const head = h("tr", null, ...columns.map((c) => h("th", { scope: "col", class: c.number ? "num" : null }, c.title)));
  const node = h("div", { class: "p-table" }, h("table", { class: "data" }, h("caption", { class: "unseen" }, caption), h("thead", null, head), body));
  return { node, body, columns };
}

// cells are a row's cells, each with its column's name for a narrow screen, where a row becomes a card. The first
// is the row's heading.
export function cells(columns, values) {
  return columns.map((c, i) => h(i === 0 ? "th" : "td", {
    ...(i === 0 ? { scope: "row" } : { "data-label": c.title }), class: c.number ? "num" : null,
  }, values[i]));
}

// swap puts other children in place, unless they are what stands there already by their signature.
export function swap(node, signature, make) {
  if (node.signature === signature) return;
  node.signature = signature;
  fill(node, make());
}

// busy runs an action of a button once at a time.
export async function busy(button, action) {
  if (button.getAttribute("aria-busy") === "true") return undefined;
  button.setAttribute("aria-busy", "true");
  button.disabled = true;
  try {
    return await action();
  } finally {
    button.removeAttribute("aria-busy");
    button.disabled = false;
  }
}

// diffView is a unified diff, each line marked by its sign and its colour.
export function diffView(app, text, testid) {
  if (!text) return empty(app.t("p.diff.none"));
  const lines = text.replace(/\n$/, "").split("\n");
  return h("pre", { class: "p-diff", "data-testid": testid, tabindex: "0", role: "group", "aria-label": app.t("p.diff.label") }, ...lines.map((line) => h("span", { class: diffClass(line) }, `${line}\n`)));
}

function diffClass(line) {
  if (line.startsWith("+++") || line.startsWith("---")) return "p-diff-file";
  if (line.startsWith("@@")) return "p-diff-at";
  if (line.startsWith("+")) return "p-diff-new";
  if (line.startsWith("-")) return "p-diff-old";
  return "p-diff-same";
}

// copyButton copies what get returns.
export function copyButton(app, get) {
  const button = h("button", { type: "button", class: "p-small" }, app.t("p.copy"));
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(get());
      button.textContent = app.t("p.copied");
    } catch {
      button.textContent = app.t("p.copy_failed");
    }
    setTimeout(() => { button.textContent = app.t("p.copy"); }, 2000);
  });
  return button;
}

// later calls back when nothing has happened for a while.
export function later(ms, action) {
  let timer = 0;
  const call = (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(...args), ms);
  };
  call.cancel = () => clearTimeout(timer);
  return call;
}
