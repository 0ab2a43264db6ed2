// Figures and times as people read them, in the language in force. A dash stands for "not known".

import { t, locale } from "./i18n.js";

export const none = "–";
const known = (n) => typeof n === "number" && Number.isFinite(n);

let made = "";
let grouped, clockOf, dayOf, minuteOf;

function tools() {
  if (made === locale()) return;
  made = locale();
  grouped = new Intl.NumberFormat(made, { maximumFractionDigits: 0 });
  const time = { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" };
  clockOf = new Intl.DateTimeFormat(made, time);
  minuteOf = new Intl.DateTimeFormat(made, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  dayOf = new Intl.DateTimeFormat(made, { month: "short", day: "numeric", ...time });
}

// count is a whole number: "12,345".
export function count(n) {
  tools();
  return known(n) ? grouped.format(n) : none;
}

// rate is a number a second with no more digits than one can use; the unit is for whoever shows it.
export function rate(perSecond) {
  if (!known(perSecond)) return none;
  if (perSecond >= 100) return count(Math.round(perSecond));
  return String(Math.round(perSecond * 10) / 10);
}

export const perSecond = (n) => (known(n) ? t("unit.per_s", { n: rate(n) }) : none);

// percent is of a share from 0 to 1, rounded to whole percents, and neither 0 nor 100 unless it is exactly that.
export function percent(share) {
  if (!known(share)) return none;
  let whole = Math.round(share * 100);
  if (share > 0 && whole === 0) return "<1%";
  if (share < 1 && whole === 100) whole = 99;
  return `${whole}%`;
}

// availability rounds down to hundredths of a percent, so that nothing but all is "100%".
export function availability(share) {
  if (!known(share)) return none;
  let hundredths = Math.floor(share * 10000 + 1e-6);
  if (share < 1) hundredths = Math.min(hundredths, 9999);
  return `${hundredths / 100}%`;
}

// span shows milliseconds by their two largest units: "180 ms", "2.5 s", "3 min 20 s", "2 d 4 h".
export function span(ms) {
  if (!known(ms)) return none;
  const s = ms / 1000;
  if (s < 1) return t("unit.ms", { n: Math.round(ms) });
  if (s < 60) return t("unit.s", { n: rate(Math.floor(s * 10) / 10) });
  const pair = (big, small, size, rest) => {
    const n = Math.floor(s / size);
    const r = Math.floor((s % size) / rest);
    return r ? `${t(big, { n })} ${t(small, { n: r })}` : t(big, { n });
  };
  if (s < 3600) return pair("unit.min", "unit.s", 60, 1);
  if (s < 86400) return pair("unit.h", "unit.min", 3600, 60);
  return pair("unit.d", "unit.h", 86400, 3600);
}

const date = (value) => (value instanceof Date ? value : new Date(value));

// clock is the time of day, in the browser's zone: "14:03:07".
export function clock(value) {
  tools();
  return value ? clockOf.format(date(value)) : none;
}

// minute is clock without the seconds.
export function minute(value) {
  tools();
  return value ? minuteOf.format(date(value)) : none;
}

// moment has the day as well, unless it is today: "14:03:07", "Mar 5, 14:03:07".
export function moment(value) {
  tools();
  if (!value) return none;
  const d = date(value);
  return d.toDateString() === new Date().toDateString() ? clockOf.format(d) : dayOf.format(d);
}

// ago is how long something is over: "3 min ago".
export const ago = (value, now = Date.now()) => (value ? t("unit.ago", { span: span(Math.max(0, now - date(value))) }) : none);

// dash is a text, or the dash for an empty one.
export const dash = (text) => (text === "" || text === null || text === undefined ? none : String(text));
