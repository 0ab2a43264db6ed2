// Drawings: curves over time by uPlot, and small ones by hand on a canvas. All redraw when the theme changes.

import { minute } from "./format.js";
import { colour, onTheme } from "./theme.js";

const { uPlot } = globalThis;

// GUTTER is where the axis of the values stands, left of a curve.
const GUTTER = 34;

// curve draws data ([times, values...]) and keeps the width of root. o has height, series (uPlot's, with stroke and
// fill as names of custom properties), scales, axes (of the values: true, or a list of uPlot's), sync (curves of one
// name share the cursor) and onCursor(index or null). It answers { set(data), close() }.
export function curve(root, o) {
  let plot = null;
  let data = null;

  function make() {
    plot?.destroy();
    const axis = { stroke: colour("--soft"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false }, font: "11px system-ui, sans-serif" };
    plot = new uPlot(
      {
        width: Math.max(120, root.clientWidth),
        height: o.height,
        padding: [6, 14, 0, 0],
        legend: { show: false },
        cursor: { y: false, drag: { x: false, y: false }, points: { show: false }, ...(o.sync && { sync: { key: o.sync } }) },
        scales: { x: { time: true }, ...o.scales },
        axes: [
          { ...axis, size: 20, gap: 2, space: 60, values: (_, splits) => splits.map((s) => minute(new Date(s * 1000))), grid: { show: false } },
          { ...axis, size: GUTTER, gap: 4, space: 28, incrs: [1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000, 2000, 5000, 10000, 50000, 100000, 1000000] },
        ],
        series: [{}, ...o.series.map((s) => ({ points: { show: false }, width: 1.5, ...s, stroke: s.stroke && colour(s.stroke), fill: s.fill && colour(s.fill) }))],
        hooks: { setCursor: [(u) => o.onCursor?.(u.cursor.idx ?? null)] },
      },
      data ?? [[], ...o.series.map(() => [])],
      root,
    );
  }

  make();
  const resized = new ResizeObserver(() => plot.setSize({ width: Math.max(120, root.clientWidth), height: o.height }));
  resized.observe(root);
  const themed = onTheme(make);
  return {
    set(next) {
      data = next;
      plot.setData(next);
    },
    close() {
      resized.disconnect();
      themed();
      plot.destroy();
    },
  };
}

// pen is a canvas's context in CSS pixels, cleared, with its size; null while it is not laid out.
export function pen(canvas, width = canvas.clientWidth, height = canvas.clientHeight) {
  if (!width || !height) return null;
  const dense = Math.min(2, devicePixelRatio || 1);
  if (canvas.width !== Math.round(width * dense) || canvas.height !== Math.round(height * dense)) {
    canvas.width = Math.round(width * dense);
    canvas.height = Math.round(height * dense);
  }
  const ctx = canvas.getContext("2d");
  ctx.setTransform(dense, 0, 0, dense, 0, 0);
  ctx.clearRect(0, 0, width, height);
  return { ctx, width, height };
}

// area fills below values from left to right, null where nothing is known; most is the value at the top.
export function area({ ctx, width, height }, values, most, { fill, stroke, slots = values.length, wide = 1.25 }) {
  const step = width / Math.max(1, slots - 1);
  const first = slots - values.length;
  const floor = height - (stroke ? wide / 2 : 0);
  const y = (v) => floor - (Math.min(v, most) / most) * (floor - 2);
  let from = -1;
  const end = (to) => {
    if (from < 0) return;
    const path = new Path2D();
    for (let i = from; i < to; i++) path.lineTo((first + i) * step, y(values[i]));
    if (stroke) {
      ctx.strokeStyle = stroke;
      ctx.lineWidth = wide;
      ctx.lineJoin = "round";
      ctx.stroke(path);
    }
    if (fill) {
      path.lineTo((first + to - 1) * step, height);
      path.lineTo((first + from) * step, height);
      ctx.fillStyle = fill;
      ctx.fill(path);
    }
    from = -1;
  };
  for (let i = 0; i < values.length; i++) {
    if (values[i] === null || values[i] === undefined) end(i);
    else if (from < 0) from = i;
  }
  end(values.length);
}

// sparkline draws one small curve, its own peak at the top; slots is how many values the whole width stands for.
export function sparkline(canvas, values, { slots, width, height, line = "--tide" } = {}) {
  const p = pen(canvas, width, height);
  if (!p || values.length < 2) return;
  area(p, values, Math.max(...values, 1e-9) * 1.08, { slots, fill: colour("--water"), stroke: colour(line) });
}
