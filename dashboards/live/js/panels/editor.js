// A text with line numbers, and faults shown at their lines. Only the lines in sight are drawn, so a file of ten
// thousand callers is as quick as one of ten.
import { fill, h, setStyle } from "../dom.js";

let count = 0;

// editor has node, text(), set(text), show(problems), go(line, column) and readOnly(yes). onInput is called as it is
// typed in, onSave at Ctrl+S.
export function editor({ label, onInput, onSave, describedBy }) {
  const id = `p-editor-${++count}`;
  const area = h("textarea", {
    id, class: "p-code-area", spellcheck: "false", autocapitalize: "off", autocomplete: "off", autocorrect: "off", wrap: "off",
    "aria-label": label, "aria-describedby": describedBy, "data-testid": "config-editor",
  });
  const gutter = h("div", { class: "p-code-gutter", "aria-hidden": "true" });
  const marks = h("div", { class: "p-code-marks", "aria-hidden": "true" });
  const node = h("div", { class: "p-code" }, gutter, h("div", { class: "p-code-text" }, marks, area));
  let lines = [""];
  let faults = new Map();
  let height = 19;

  const draw = () => {
    height = parseFloat(getComputedStyle(area).lineHeight) || height;
    const pad = parseFloat(getComputedStyle(area).paddingTop) || 0;
    const first = Math.max(0, Math.floor((area.scrollTop - pad) / height) - 2);
    const last = Math.min(lines.length, first + Math.ceil(area.clientHeight / height) + 5);
    setStyle(gutter, "--digits", String(String(lines.length).length));
    const numbers = [];
    const shown = [];
    for (let i = first; i < last; i++) {
      const top = `${pad + i * height - area.scrollTop}px`;
      const here = faults.get(i + 1);
      numbers.push(h("span", { class: here ? "p-line p-line-bad" : "p-line", style: { top } }, String(i + 1)));
      // The line's own text, unseen, puts the fault behind its end whatever its letters are.
      if (here) shown.push(h("div", { class: "p-mark-line", style: { top, transform: `translateX(${-area.scrollLeft}px)` } }, h("span", { class: "p-mark-text" }, lines[i]), h("span", { class: "p-mark-fault" }, here.map((p) => p.message).join("; "))));
    }
    fill(gutter, numbers);
    fill(marks, shown);
  };
  let due = 0;
  const soon = () => {
    cancelAnimationFrame(due);
    due = requestAnimationFrame(draw);
  };
  area.addEventListener("scroll", soon, { passive: true });
  area.addEventListener("input", () => {
    lines = area.value.split("\n");
    soon();
    onInput?.();
  });
  area.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === "s") {
      event.preventDefault();
      onSave?.();
    }
  });
  const resized = new ResizeObserver(soon);
  resized.observe(area);
  return {
    node,
    text: () => area.value,
    set(text) {
      area.value = text;
      lines = area.value.split("\n");
      soon();
    },
    show(problems) {
      faults = Map.groupBy(problems.filter((p) => p.line > 0), (p) => p.line);
      area.setAttribute("aria-invalid", String(problems.length > 0));
      soon();
    },
    go(line, column) {
      const start = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
      const at = Math.min(start + Math.max(0, (column || 1) - 1), start + (lines[line - 1]?.length ?? 0));
      area.focus();
      area.setSelectionRange(at, start + (lines[line - 1]?.length ?? 0));
      area.scrollTop = Math.max(0, (line - 1) * height - area.clientHeight / 3);
      area.scrollLeft = 0;
    },
    readOnly(yes) {
      area.readOnly = yes;
    },
    gone() {
      resized.disconnect();
      cancelAnimationFrame(due);
    },
  };
}
