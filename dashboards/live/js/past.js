// The last 15 minutes by the second: from the gateway's history when a curve is first shown, then from the stream.

import { api } from "./api.js";

export const LENGTH = 900; // seconds
const GAP = 3; // seconds that the stream may skip before they must be fetched

const kept = new Map();

// past is one remembered series: kind total or pool. It is loaded once, however many ask.
export function past(kind, name = "") {
  const key = `${kind} ${name}`;
  let p = kept.get(key);
  if (!p) {
    kept.set(key, (p = new Past(kind, name)));
    p.load();
  }
  return p;
}

// remember appends a snapshot to all that is remembered.
export function remember(snapshot) {
  const second = Math.floor(Date.parse(snapshot.time) / 1000);
  for (const p of kept.values()) {
    const now = p.kind === "total" ? totals(snapshot) : snapshot.pools.find((pool) => pool.name === p.name);
    if (now) p.append(second, now);
  }
}

function totals({ totals: now }) {
  return { ...now, rate: now.requests_per_s };
}

const fieldsOf = {
  total: ["rate", "admitted_per_s", "refused_per_s", "waiting"],
  pool: ["seats", "in_use", "committed", "excess", "surge", "lent", "borrowed", "waiting"],
};

class Past {
  constructor(kind, name) {
    this.kind = kind;
    this.name = name;
    this.end = 0; // the second of the last value
    this.fields = Object.fromEntries(fieldsOf[kind].map((f) => [f, new Array(LENGTH).fill(null)]));
    this.loading = false;
    this.stream = 0; // the second of the last value of the stream
  }

  // load fetches what is there and does not overwrite what the stream brought meanwhile.
  async load() {
    if (this.loading) return;
    this.loading = true;
    try {
      const view = await api.get("history", { kind: this.kind, name: this.name, span: "15m" });
      this.take(view);
    } catch {
      // Then the curve begins here; the next gap tries again.
    } finally {
      this.loading = false;
    }
  }

  take({ from, step_ms, fields }) {
    const first = Math.floor(Date.parse(from) / 1000);
    const step = step_ms / 1000;
    const length = Math.max(0, ...Object.values(fields).map((values) => values.length));
    if (!length) return;
    this.reach(first + (length - 1) * step);
    for (const [field, mine] of Object.entries(this.fields)) {
      const values = fields[field] ?? [];
      for (let i = 0; i < values.length; i++) {
        const at = this.place(first + i * step);
        if (at >= 0 && at < LENGTH && mine[at] === null) mine[at] = values[i];
      }
    }
  }

  append(second, values) {
    if (this.stream && second - this.stream > GAP) this.load();
    const skipped = this.stream && second - this.stream <= GAP ? this.stream + 1 : second;
    this.reach(second);
    for (const [field, mine] of Object.entries(this.fields)) {
      // A second or two that the stream's clock skipped had what this one has, as far as anybody can see.
      for (let s = skipped; s <= second; s++) {
        const at = this.place(s);
        if (at >= 0) mine[at] = values[field] ?? null;
      }
    }
    this.stream = Math.max(this.stream, second);
  }

  place(second) {
    return LENGTH - 1 - (this.end - second);
  }

  // reach moves the end on to a second.
  reach(second) {
    if (second <= this.end) return;
    const by = this.end ? Math.min(LENGTH, second - this.end) : LENGTH;
    for (const values of Object.values(this.fields)) {
      values.copyWithin(0, by);
      values.fill(null, LENGTH - by);
    }
    this.end = second;
  }

  // times are the seconds of the values, for an axis.
  times() {
    return Array.from({ length: LENGTH }, (_, i) => this.end - (LENGTH - 1 - i));
  }

  peak(field) {
    return this.fields[field].reduce((most, v) => Math.max(most, v ?? 0), 0);
  }
}
