// A curve over time, drawn by uPlot in the colours of the theme in force.
import { minute, moment, rate } from "../format.js";
import { colour, onTheme } from "../theme.js";

// drawing draws series, each {label, colour, fill, dash}, into a place; time is the word for the moment. draw(data, from, to) has the moments first,
// in seconds.
export function drawing(place, time, series, height = 160) {
  let chart = null;
  let last = null;
  const make = () => {
    chart?.destroy();
    const axis = { stroke: colour("--soft"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false }, font: "11px system-ui, sans-serif" };
    chart = new window.uPlot({
      width: Math.max(200, place.clientWidth), height,
      cursor: { y: false, points: { size: 5 } },
      legend: { live: true },
      scales: { x: { time: true, range: () => [last[1], last[2]] }, y: { range: (_, low, high) => [0, Math.max(1, (high ?? 0) * 1.1)] } },
      axes: [
        { ...axis, size: 26, values: (_, ticks) => ticks.map((s) => (last[2] - last[1] > 100_000 ? day(s) : minute(s * 1000))) },
        { ...axis, size: 44, values: (_, ticks) => ticks.map((n) => rate(n)) },
      ],
      series: [
        { label: time, value: (_, s) => (s == null ? "" : moment(s * 1000)) },
        ...series.map((s) => ({ label: s.label, stroke: colour(s.colour), fill: s.fill ? colour(s.fill) : undefined, dash: s.dash, width: 1.5, points: { show: false }, value: (_, n) => rate(n) })),
      ],
    }, last[0], place);
  };
  const resized = new ResizeObserver(() => {
    if (chart && Math.abs(chart.width - place.clientWidth) > 1) chart.setSize({ width: Math.max(200, place.clientWidth), height });
  });
  resized.observe(place);
  const off = onTheme(() => last && make());
  return {
    draw(data, from, to) {
      last = [data, from, to];
      if (!chart) make();
      else chart.setData(data);
    },
    gone() {
      off();
      resized.disconnect();
      chart?.destroy();
    },
  };
}

function day(seconds) {
  const date = new Date(seconds * 1000);
  return `${date.getMonth() + 1}-${String(date.getDate()).padStart(2, "0")}`;
}
