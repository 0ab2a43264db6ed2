// New surges are told to those who listen instead of look: politely, and not one by one when there are many.

import { rate } from "./format.js";
import { t } from "./i18n.js";

const EVERY = 5000; // ms between two announcements

export function announcer(say) {
  let known = null;
  let news = [];
  let spoke = -EVERY;
  return (snapshot) => {
    const on = snapshot.surges.filter((s) => s.end === null);
    const keys = new Set(on.map(key));
    if (known) news.push(...on.filter((s) => !known.has(key(s))));
    known = keys;
    const now = performance.now();
    if (!news.length || now - spoke < EVERY) return;
    spoke = now;
    const [s] = news;
    say(news.length > 1 ? t("spoken.surges", { n: news.length }) : t("spoken.surge", { caller: s.caller, semantic: s.semantic, rate: rate(s.observed), expected: rate(s.baseline) }));
    news = [];
  };
}

const key = (s) => `${s.caller} ${s.semantic} ${s.start}`;
