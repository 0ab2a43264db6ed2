// Seats as cells: how many cells show what. Pure, so that it can be thought about alone.

const MOST = 64; // cells; a larger pool has cells of several seats each

export const kinds = ["committed", "excess", "surge", "lent", "free", "borrowed"];

// cells says what to draw for a pool: { per, own: [[kind, cells]], borrowed, counts }, where per is how many seats a
// cell stands for. Borrowed seats are others', so they come on top of the pool's own; they serve committed work.
export function cells(pool) {
  const counts = {
    committed: pool.committed,
    excess: pool.excess,
    surge: pool.surge,
    lent: pool.lent,
    borrowed: pool.borrowed,
    free: Math.max(0, pool.seats - (pool.in_use - pool.borrowed) - pool.lent),
  };
  const mine = { ...counts, committed: Math.max(0, counts.committed - counts.borrowed) };
  const kindsOfMine = ["committed", "excess", "surge", "lent", "free"];
  const seats = kindsOfMine.reduce((sum, kind) => sum + mine[kind], 0);
  const per = Math.max(1, Math.ceil(seats / MOST));
  const own = share(kindsOfMine.map((kind) => [kind, mine[kind]]), Math.ceil(seats / per), per);
  return { per, own, borrowed: Math.ceil(counts.borrowed / per), counts };
}

// share divides cells by largest remainder; whatever has a seat has a cell, taken from whoever has most.
function share(parts, total, per) {
  const out = parts.map(([kind, seats]) => ({ kind, seats, cells: Math.floor(seats / per), rest: seats % per }));
  let left = total - out.reduce((sum, p) => sum + p.cells, 0);
  for (const p of [...out].sort((a, b) => Number(b.cells === 0 && b.seats > 0) - Number(a.cells === 0 && a.seats > 0) || b.rest - a.rest)) {
    if (left <= 0) break;
    if (p.rest > 0) {
      p.cells++;
      left--;
    }
  }
  for (const p of out) {
    if (p.seats > 0 && p.cells === 0) {
      const most = out.reduce((a, b) => (b.cells > a.cells ? b : a));
      most.cells--;
      p.cells = 1;
    }
  }
  return out.map((p) => [p.kind, p.cells]);
}
