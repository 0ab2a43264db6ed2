// Light, dark, or whatever the system says.

export const themes = ["system", "light", "dark"];

export const theme = () => document.documentElement.dataset.theme ?? "system";

// choose brings a theme into force and remembers it; charts are told, since a canvas knows no style sheet.
export function choose(name) {
  if (name === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
  try {
    localStorage.setItem("tidegate.theme", name);
  } catch {
    // Then it lasts as long as the page.
  }
  changed();
}

const listeners = new Set();
let colours = new Map();

function changed() {
  colours = new Map();
  for (const f of listeners) f();
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);

// onTheme calls f after each change of theme, until what it answers is called.
export function onTheme(f) {
  listeners.add(f);
  return () => listeners.delete(f);
}

// colour is a custom property of the page's style sheet: colour("--tide").
export function colour(name) {
  let value = colours.get(name);
  if (value === undefined) {
    value = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    colours.set(name, value);
  }
  return value;
}
