// Two languages, English and Chinese. A text is a string, or { one, other } chosen by the variable n.

export const languages = ["en", "zh"];
const tags = { en: "en", zh: "zh-CN" };
let dictionary = {};
let plural = new Intl.PluralRules("en");
export let language = "en";

// preferred is the language chosen before, else the browser's first that we speak.
export function preferred() {
  try {
    const chosen = localStorage.getItem("tidegate.lang");
    if (languages.includes(chosen)) return chosen;
  } catch {
    // Storage may be forbidden.
  }
  for (const tag of navigator.languages ?? [navigator.language]) {
    const short = tag.slice(0, 2).toLowerCase();
    if (languages.includes(short)) return short;
  }
  return "en";
}

// speak brings a language into force; keep remembers it as a choice.
export async function speak(lang, keep) {
  const parts = await Promise.all(["", "panels."].map((part) => load(`../i18n/${part}${lang}.json`)));
  dictionary = Object.assign({}, ...parts);
  language = lang;
  plural = new Intl.PluralRules(tags[lang]);
  document.documentElement.lang = tags[lang];
  if (!keep) return;
  try {
    localStorage.setItem("tidegate.lang", lang);
  } catch {
    // Then it lasts as long as the page.
  }
}

async function load(path) {
  const answer = await fetch(new URL(path, import.meta.url));
  if (!answer.ok) throw new Error(`cannot load ${path}: ${answer.status}`);
  return answer.json();
}

// t is the text of a key, with {name} replaced by vars.name. A key that is missing shows itself.
export function t(key, vars) {
  let text = dictionary[key] ?? key;
  if (typeof text === "object") text = text[plural.select(vars?.n ?? 0)] ?? text.other;
  return vars ? text.replace(/\{(\w+)\}/g, (all, name) => vars[name] ?? all) : text;
}

// locale is the tag for Intl.
export const locale = () => tags[language];
