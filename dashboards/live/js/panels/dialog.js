// A dialog that asks one thing. The rest of the page is out of reach while it is open; Esc and Cancel leave
// it, and the focus goes back to where it was.
import { h } from "../dom.js";
import { problemBox } from "./parts.js";

let count = 0;

// openDialog shows body under a title. Where reason is a text, one is asked for, and it stands there already. onSubmit gets it; while what it returns is pending, the
// dialog waits; if it fails, the dialog stays and says why. Without onSubmit there is only Close.
export function openDialog(app, { title, body, submit, danger = false, reason = null, wide = false, onSubmit }) {
  const { t } = app;
  const before = document.activeElement;
  const id = `p-dialog-${++count}`;
  const fault = h("div", { class: "p-fault", role: "alert" });
  const why = reason !== null ? h("input", { id: `${id}-why`, value: reason, type: "text", maxlength: "500", autocomplete: "off", "data-testid": "action-reason" }) : null;
  const ok = onSubmit ? h("button", { type: "submit", class: danger ? "danger" : "primary", "data-testid": "dialog-submit" }, submit) : null;
  const cancel = h("button", { type: "button", "data-testid": "dialog-cancel" }, t(onSubmit ? "p.cancel" : "p.close"));
  const form = h("form", { class: "p-dialog-form" },
    h("h2", { id }, title),
    h("div", { class: "p-dialog-body" }, body,
      why ? h("label", { class: "p-field", for: `${id}-why` }, h("span", null, t("p.reason")), why) : null),
    fault,
    h("div", { class: "p-dialog-buttons" }, cancel, ok),
  );
  const node = h("dialog", { class: wide ? "p-dialog p-wide" : "p-dialog", "aria-labelledby": id, "data-testid": "dialog" }, form);

  let busy = false;
  const self = {
    node,
    close() {
      node.close();
    },
    // ready says whether there is something to submit, and under what name.
    ready(can, text) {
      if (!ok) return;
      ok.disabled = !can || busy;
      if (text) ok.textContent = text;
    },
    fault(err) {
      fault.replaceChildren(...(err ? [problemBox(app, err)] : []));
    },
  };
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (!ok || busy || ok.disabled) return;
    busy = true;
    ok.disabled = true;
    node.setAttribute("aria-busy", "true");
    self.fault(null);
    try {
      await onSubmit(why ? why.value.trim() : "");
      node.close();
    } catch (err) {
      self.fault(err);
      ok.disabled = false;
    } finally {
      busy = false;
      node.removeAttribute("aria-busy");
    }
  });
  cancel.addEventListener("click", () => node.close());
  node.addEventListener("cancel", (event) => {
    if (busy) event.preventDefault();
  });
  node.addEventListener("keydown", (event) => keepFocus(event, node));
  node.addEventListener("close", () => {
    node.remove();
    if (before?.isConnected) before.focus();
  });
  document.body.append(node);
  node.showModal();
  const first = node.querySelector("[autofocus], .p-dialog-body input, .p-dialog-body select, .p-dialog-body textarea");
  (first ?? ok ?? cancel).focus();
  return self;
}

// keepFocus lets Tab go round within the dialog; the browser's own would leave it for the window.
function keepFocus(event, node) {
  if (event.key !== "Tab") return;
  const stops = [...node.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex='0']")]
    .filter((el) => !el.disabled && el.getClientRects().length > 0);
  if (stops.length === 0) return;
  const first = stops[0];
  const last = stops[stops.length - 1];
  if (event.shiftKey && document.activeElement === first) {
    event.preventDefault();
    last.focus();
  } else if (!event.shiftKey && document.activeElement === last) {
    event.preventDefault();
    first.focus();
  }
}
