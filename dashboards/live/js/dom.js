// Elements without a framework. Data reach the page as text nodes and attributes only, never as markup.

const SVG = "http://www.w3.org/2000/svg";

// h makes an element: h("button", { class: "quiet", onclick: f, "data-testid": "x" }, "text", child, [more]).
// Attributes: on* are listeners; style is an object of properties (custom ones too), set by CSSOM, which the
// content security policy allows; true is an empty attribute; false, null and undefined leave it out. Children
// that are null, undefined or false are left out.
export function h(tag, attrs, ...children) {
  return build(document.createElement(tag), attrs, children);
}

// svg is h for the elements of a drawing.
export function svg(tag, attrs, ...children) {
  return build(document.createElementNS(SVG, tag), attrs, children);
}

function build(el, attrs, children) {
  for (const [name, value] of Object.entries(attrs ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) el.addEventListener(name.slice(2), value);
    else if (name === "style") for (const [p, v] of Object.entries(value)) el.style.setProperty(p, v);
    else if (name === "value" && "value" in el) el.value = value;
    else el.setAttribute(name, value === true ? "" : value);
  }
  append(el, children);
  return el;
}

function append(el, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) append(el, child);
    else el.append(child instanceof Node ? child : String(child));
  }
}

// fill replaces what is in el.
export function fill(el, ...children) {
  el.replaceChildren();
  append(el, children);
  return el;
}

// setText touches the page only where the text is another: writing what is there already costs a layout.
export function setText(el, text) {
  text = String(text);
  if (el.shown !== text) {
    el.shown = text;
    el.textContent = text;
  }
}

// setAttr sets an attribute, or takes it away with null, only where it changes.
export function setAttr(el, name, value) {
  if (value === null || value === false || value === undefined) {
    if (el.hasAttribute(name)) el.removeAttribute(name);
  } else if (el.getAttribute(name) !== String(value)) el.setAttribute(name, value);
}

// setStyle sets a property, custom ones too, only where it changes.
export function setStyle(el, name, value) {
  const kept = (el.styled ??= {});
  if (kept[name] !== value) {
    kept[name] = value;
    el.style.setProperty(name, value);
  }
}

// keyed keeps one element for each item of a list, in the list's order: made by make(item) when its key comes,
// brought up to date by its own update(item), and removed when its key is gone. An element that stays keeps its focus.
export function keyed(parent, items, keyOf, make) {
  const have = (parent.keyed ??= new Map());
  const want = new Set();
  let at = parent.firstElementChild;
  for (const item of items) {
    const key = keyOf(item);
    want.add(key);
    let el = have.get(key);
    if (!el) have.set(key, (el = make(item)));
    el.update?.(item);
    if (el === at) at = at.nextElementSibling;
    else parent.insertBefore(el, at);
  }
  for (const [key, el] of have) {
    if (!want.has(key)) {
      el.gone?.();
      el.remove();
      have.delete(key);
    }
  }
}
