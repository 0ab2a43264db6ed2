// What was decided, told in a sentence with the numbers that decided it.
import { count, rate, span } from "../format.js";
import { locale } from "../i18n.js";

// The codes whose sentence names numbers of the queue or the rate; every other code has a sentence without.
const numbered = {
  rate_exceeded: (r) => r.limit > 0,
  wait_too_long: (r) => r.place > 0 && r.estimate_ms >= 0,
  wait_expired: (r) => r.max_wait_ms > 0,
  queue_full: (r) => Boolean(r.pool),
  displaced: (r) => Boolean(r.pool),
};

// refusal is one sentence: "Refused: 34th in its queue, an estimated 4.2 s against a longest wait of 2 s; rule
// free/*/chat at config.toml:120".
export function refusal(app, r) {
  const { t } = app;
  const known = ["rate_exceeded", "wait_too_long", "wait_expired", "queue_full", "displaced", "too_many_in_flight",
    "address_limited", "caller_unknown", "caller_disabled", "quota_exhausted", "route_unknown", "tenant_missing", "bad_request",
    "body_slow", "body_too_large", "headers_too_large", "no_upstream", "draining"];
  const plain = numbered[r.code] && !numbered[r.code](r);
  const key = known.includes(r.code) ? `p.told.${r.code}${plain ? ".plain" : ""}` : "p.told.other";
  const why = t(key, {
    code: r.code, place: ordinal(app, r.place), estimate: span(r.estimate_ms), longest: span(r.max_wait_ms),
    waited: span(r.waited_ms), limit: count(r.limit), remaining: count(r.remaining), reset: span(r.reset_ms),
    pool: r.pool, waiting: count(r.waiting), seats: count(r.seats), used: count(r.in_use),
  });
  const verb = t(r.observed ? "p.told.observed" : "p.told.refused", { why });
  if (!r.rule) return verb + t("p.told.stop");
  return verb + t(r.rule_at ? "p.told.rule_at" : "p.told.rule", { rule: r.rule, at: r.rule_at }) + t("p.told.stop");
}

// numbers are the pairs of name and value that stand below the sentence; what does not apply is left out.
export function numbers(app, r) {
  const { t } = app;
  const list = [];
  const put = (key, value, when = true) => when && list.push([t(`p.number.${key}`), value]);
  put("band", bandName(app, r.band), Boolean(r.band));
  put("within_rate", t(r.within_rate ? "p.yes" : "p.no"), Boolean(r.rule));
  put("place", count(r.place), r.place > 0);
  put("estimate", r.estimate_ms < 0 ? t("p.unknown") : span(r.estimate_ms), r.place > 0);
  put("max_wait", span(r.max_wait_ms), r.max_wait_ms > 0);
  put("waited", span(r.waited_ms), r.waited_ms > 0);
  put("remaining", t("p.number.remaining_of", { remaining: count(r.remaining), limit: count(r.limit) }), r.limit > 0);
  put("reset", span(r.reset_ms), r.reset_ms > 0);
  put("seats", t("p.number.seats_of", { used: count(r.in_use), seats: count(r.seats), pool: r.pool }), Boolean(r.pool));
  put("waiting", count(r.waiting), Boolean(r.pool));
  put("retry", r.retry_after_ms > 0 ? span(r.retry_after_ms) : t("p.number.retry_never"));
  put("route", r.route, Boolean(r.route));
  put("tenant", r.tenant, Boolean(r.tenant));
  put("version", count(r.version), r.version > 0);
  return list;
}

// ordinal is a place: 34th.
function ordinal(app, n) {
  const rule = new Intl.PluralRules(locale(), { type: "ordinal" }).select(n);
  return app.t(`p.ordinal.${rule}`, { n: count(n) });
}

export function bandName(app, band) {
  return ["committed", "excess", "surge"].includes(band) ? app.t(`p.band.${band}`) : band;
}

// surge says why a surge was held to be one.
export function surge(app, s) {
  const { t } = app;
  const key = s.baseline > 0 ? "p.told.surge" : "p.told.surge_from_nothing";
  return t(key, {
    observed: rate(s.observed), expected: rate(s.baseline), ratio: times(s.ratio), score: rate(s.score), needed: rate(s.needed),
  }) + season(app, s);
}

// season says what the expectation rests on.
export function season(app, s) {
  if (!s.season_slot) return "";
  const key = s.season_learning ? "learning" : s.seasonal ? "usual" : "own";
  return app.t(`p.told.season_${key}`, { slot: slot(app, s.season_slot) });
}

// done is what was done about a surge; flow is what is known of its flows now, null when it is over.
export function done(app, s, now) {
  const { t } = app;
  if (s.end) return t("p.done.over");
  if (!now) return t("p.done.on");
  return t("p.done.now", { waiting: count(now.waiting), refused: rate(now.refused_per_s) });
}

// slot is an hour of the week, "Mon 09h", in the reader's words.
export function slot(app, text) {
  const match = /^(\w{3}) (\d\d)h$/.exec(text);
  if (!match) return text;
  return app.t("p.slot", { day: app.t(`p.day.${match[1].toLowerCase()}`), hour: match[2] });
}

function times(ratio) {
  return ratio >= 10 ? count(ratio) : (Math.round(ratio * 10) / 10).toString();
}
