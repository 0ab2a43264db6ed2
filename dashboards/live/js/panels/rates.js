// Rates as the configuration writes them: an amount of cost over a span, "20/60s", "200/s", "5/min".

const unitMS = { ms: 1, s: 1000, m: 60_000, min: 60_000, h: 3_600_000 };

// parseRate reads "N/D"; null is no rate.
export function parseRate(text) {
  const match = /^(\d+)\/(?:(\d*)(min|ms|s|m|h)|((?:\d+(?:\.\d+)?(?:ms|s|m|h))+))$/.exec(text ?? "");
  if (!match) return null;
  const [, amount, count, unit, compound] = match;
  const n = Number(amount);
  const per = compound ? compoundMS(compound) : Number(count || 1) * unitMS[unit];
  return n >= 1 && per > 0 ? { n, per, span: text.slice(text.indexOf("/") + 1) } : null;
}

function compoundMS(text) {
  let sum = 0;
  for (const [, count, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)) sum += Number(count) * unitMS[unit];
  return sum;
}

// perSecond is a parsed rate in cost a second.
export function perSecond(rate) {
  return (rate.n * 1000) / rate.per;
}

// bound is how far a rate may go up, and whose word that is. An operator stays within max_rate, or without
// one within the file's own rate, of every rule concerned; an owner is not bound (Infinity). Amounts are in
// the span of the rate that is changed.
export function bound(rules, span, isOwner) {
  let best = null;
  for (const rule of rules) {
    const most = parseRate(rule.max_rate || rule.file_rate || rule.rate);
    if (!most) continue;
    const n = Math.max(1, Math.floor(perSecond(most) * (span / 1000) + 1e-9));
    if (!best || n < best.n) best = { n, text: rule.max_rate || rule.file_rate || rule.rate, rule: rule.rule, fromMax: Boolean(rule.max_rate) };
  }
  return { most: isOwner || !best ? Infinity : best.n, said: best };
}

// sliderEnd is the right end of a slider for a rate: the bound, or for an owner, who has none, room to double
// the largest rate in sight.
export function sliderEnd(current, most, said) {
  if (Number.isFinite(most)) return Math.max(most, 1);
  return Math.max(2 * current.n, said ? 2 * said.n : 0, 10);
}

// rulesOf are the rules that a caller's requests of a semantic meet, each once.
export function rulesOf(detail, semantic) {
  const seen = new Map();
  for (const rule of detail.rules ?? []) {
    if (rule.semantic === semantic && !seen.has(rule.rule)) seen.set(rule.rule, rule);
  }
  return [...seen.values()];
}
