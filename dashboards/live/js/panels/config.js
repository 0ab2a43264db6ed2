// The configuration: its text, checked as it is written, played on the last minutes before it is applied, and
// its versions below.
import { h, setText } from "../dom.js";
import { checkView, problemList } from "./configcheck.js";
import { openDialog } from "./dialog.js";
import { editor } from "./editor.js";
import { busy, diffView, later, problemBox, section, swap } from "./parts.js";
import { previewView } from "./preview.js";
import { conflictBox } from "./conflict.js";
import { versionList } from "./versions.js";

// What is written is kept while one looks at other views: { text, base, etag, version } or null.
let draft = null;

export function mount(root, app) {
  const { t } = app;
  const mayApply = app.can("owner");
  const mayEdit = app.can("operator");
  const state = h("p", { class: "p-state", role: "status", "data-testid": "config-state" });
  const fault = h("div", { role: "alert" });
  const conflict = h("div");
  const problems = problemList(app, (line, column) => edit.go(line, column));
  const edit = editor({ label: t("p.config.editor"), describedBy: problems.id, onInput: typed, onSave: () => mayEdit && check(true) });
  const button = (key, testid, primary, run) => {
    const el = h("button", { type: "button", class: primary ? "primary" : null, "data-testid": testid, onclick: () => busy(el, run).then(buttons) }, t(`p.config.${key}`));
    return el;
  };
  const checkButton = mayEdit ? button("check", "config-check", false, () => check(true)) : null;
  const previewButton = mayEdit ? button("preview", "config-preview", false, preview) : null;
  const applyButton = mayApply ? button("apply", "config-apply", true, apply) : null;
  const resetButton = mayEdit ? h("button", { type: "button", class: "quiet", "data-testid": "config-reset", onclick: reset }, t("p.config.reset")) : null;
  const why = h("input", { type: "text", maxlength: "500", autocomplete: "off", placeholder: t("p.reason"), "aria-label": t("p.reason"), "data-testid": "config-reason", hidden: true });
  const result = h("div", { "aria-live": "polite" });
  const played = h("div", { "aria-live": "polite" });
  const versions = versionList(app, { changed: () => { conflict.replaceChildren(); load(!dirty()); }, draft: () => dirty() });
  const node = h("div", { class: "p-view" },
    h("div", { class: "p-head" }, h("h1", null, t("p.config.title")), state),
    mayApply ? null : h("p", { class: "notice info" }, h("span", null, t(mayEdit ? "p.config.operator" : "p.config.viewer", { role: app.session.role }))),
    fault, conflict,
    h("div", { class: "card p-editor-card" }, edit.node,
      h("div", { class: "p-editor-bar" }, problems.count, h("span", { class: "toolbar" }, mayApply ? why : null, resetButton, checkButton, previewButton, applyButton))),
    problems.node, result, played, section(t("p.versions.title"), versions.node));
  root.append(node);
  edit.readOnly(!mayEdit);

  let base = { text: null, etag: "", version: 0 };
  let checked = null; // the answer for the text as it is now
  let shown = null; // the text whose change is in sight
  let gone = false;
  let turn = 0;
  let seen = 0; // the last version that was looked at
  const dirty = () => mayEdit && base.text !== null && edit.text() !== base.text;
  const checkSoon = later(500, () => check(false));

  function typed() {
    checked = null;
    keep();
    buttons();
    checkSoon();
  }

  function keep() {
    draft = dirty() ? { ...base, text: edit.text(), base: base.text } : null;
  }

  function buttons() {
    const changed = dirty();
    if (previewButton) previewButton.disabled = !changed || Boolean(checked && !checked.ok);
    if (applyButton) applyButton.disabled = !changed || Boolean(checked && !checked.ok);
    if (resetButton) resetButton.hidden = !changed;
    why.hidden = !changed;
    const force = app.snapshot?.config.version ?? base.version;
    setText(state, changed ? t(force > base.version && base.version ? "p.config.dirty_behind" : "p.config.dirty", { version: base.version, force }) : t("p.config.in_force", { version: base.version || force }));
    state.classList.toggle("p-warn", changed && force > base.version);
  }

  // load takes what is in force; over says whether it takes the place of what is written.
  async function load(over) {
    try {
      const answer = await app.api.request("GET", "config");
      if (gone) return;
      fault.replaceChildren();
      base = { text: normal(answer.data), etag: answer.etag, version: app.snapshot?.config.version ?? 0 };
      if (over) {
        draft = null;
        if (edit.text() !== base.text) edit.set(base.text);
        checked = null;
        problems.show([]);
        edit.show([]);
        swap(result, "", () => null);
        swap(played, "", () => null);
      }
      buttons();
    } catch (err) {
      if (!gone) fault.replaceChildren(problemBox(app, err));
    }
  }

  // behind looks whether the text that is written on is still the one in force: an override is a version too.
  async function behind() {
    const answer = await app.api.request("GET", "config").catch(() => null);
    if (gone) return;
    if (answer?.etag === base.etag) base.version = app.snapshot.config.version;
    keep();
    buttons();
  }

  function reset() {
    const lost = edit.text();
    load(true);
    app.toast(t("p.config.reset_said"), "info");
    conflict.replaceChildren(h("p", { class: "notice info" }, h("span", null, t("p.config.reset_note"), " "), h("button", {
      type: "button", class: "p-small", onclick: () => { conflict.replaceChildren(); edit.set(lost); typed(); },
    }, t("p.config.reset_back"))));
  }

  // check asks what the text would be; told shows the diff as well.
  async function check(told) {
    checkSoon.cancel();
    const mine = ++turn;
    const text = edit.text();
    try {
      const answer = await app.api.post("config/check", { config: text });
      if (gone || mine !== turn || text !== edit.text()) return null;
      fault.replaceChildren();
      checked = answer;
      problems.show(answer.problems ?? []);
      edit.show(answer.problems ?? []);
      buttons();
      if (told || result.childNodes.length) showChange(answer, text);
      if (told) app.say(answer.ok ? t("p.config.ok") : t("p.config.faults", { n: answer.problems.length }));
      return answer;
    } catch (err) {
      if (!gone && mine === turn) fault.replaceChildren(problemBox(app, err));
      return null;
    }
  }

  function showChange(answer, text) {
    swap(result, JSON.stringify([answer.ok, answer.diff, answer.asides, answer.restart_needed]), () => checkView(app, answer));
    shown = answer.ok ? text : null;
  }

  async function preview() {
    const text = edit.text();
    swap(played, `playing ${Date.now()}`, () => h("p", { class: "empty", role: "status" }, t("p.preview.playing")));
    try {
      const answer = await app.api.post("config/preview", { config: text });
      if (gone) return;
      if (text === edit.text()) {
        checked = answer;
        problems.show(answer.problems ?? []);
        edit.show(answer.problems ?? []);
        showChange(answer, text);
      }
      swap(played, JSON.stringify(answer), () => previewView(app, answer));
      played.scrollIntoView({ block: "nearest", behavior: "smooth" });
    } catch (err) {
      if (gone) return;
      swap(played, `fault ${Date.now()}`, () => problemBox(app, err));
      if (err.problems?.length) {
        problems.show(err.problems);
        edit.show(err.problems);
      }
    }
  }

  // apply asks only where the change is not in sight yet: nothing is applied unseen.
  async function apply() {
    const text = edit.text();
    const seen = shown === text && checked?.ok;
    const answer = await check(true);
    if (!answer?.ok) return;
    if (seen) {
      try {
        await put(text, why.value.trim());
      } catch (err) {
        fault.replaceChildren(problemBox(app, err));
      }
      return;
    }
    openDialog(app, {
      title: t("p.config.apply_title"), reason: why.value, wide: true, submit: t("p.config.apply_submit"),
      body: [h("p", null, t("p.config.apply_note", { version: base.version })), diffView(app, answer.diff), ...checkNotes(answer)],
      onSubmit: (reason) => put(text, reason),
    });
  }

  async function put(text, reason) {
    try {
      const made = await app.api.put("config", { config: text, ...(reason ? { reason } : {}) }, { headers: { "If-Match": base.etag } });
      applied(made, text);
    } catch (err) {
      if (err.status === 412) {
        await outrun(text);
        return;
      }
      if (err.problems?.length) {
        problems.show(err.problems);
        edit.show(err.problems);
      }
      throw err;
    }
  }

  function checkNotes(answer) {
    return [answer.restart_needed?.length ? h("p", { class: "p-warn" }, t("p.config.restart", { keys: answer.restart_needed.join(", ") })) : null,
      answer.asides?.length ? h("p", { class: "p-warn" }, t("p.config.asides", { n: answer.asides.length })) : null];
  }

  function applied(made, text) {
    base = { text, etag: made.etag, version: made.version };
    why.value = "";
    shown = null;
    keep();
    conflict.replaceChildren();
    swap(result, "", () => null);
    swap(played, "", () => null);
    buttons();
    versions.ask();
    app.toast([t("p.config.applied", { version: made.version }), ...(made.notes ?? []), made.restart_needed?.length ? t("p.config.restart", { keys: made.restart_needed.join(", ") }) : ""].filter(Boolean).join(" "), "good");
  }

  // outrun says that somebody else was faster. What is written stays as it is.
  async function outrun(mine) {
    const box = await conflictBox(app, {
      mine,
      load: () => load(true),
      back: () => { edit.set(mine); typed(); },
      // The text goes by what is in force now: what the other one changed and it does not have would be undone.
      go: async () => { await load(false); keep(); conflict.replaceChildren(); await check(true); },
    });
    if (gone) return;
    conflict.replaceChildren(box);
    conflict.scrollIntoView({ block: "nearest" });
    buttons();
  }

  // Leaving the page would lose what is written; the page's own reload asks first as well.
  const leaving = (event) => { if (draft) event.preventDefault(); };
  window.addEventListener("beforeunload", leaving);
  window.addEventListener("tidegate:reload", leaving);
  const kept = draft;
  if (kept && mayEdit) {
    base = { text: kept.base, etag: kept.etag, version: kept.version };
    edit.set(kept.text);
    buttons();
    check(false);
  } else load(true);

  return {
    update(snapshot) {
      versions.update(snapshot);
      if (base.text === null || snapshot.config.version === base.version || snapshot.config.version === seen) return;
      seen = snapshot.config.version;
      if (dirty()) behind();
      else load(true);
    },
    unmount() {
      gone = true;
      keep();
      checkSoon.cancel();
      edit.gone();
      window.removeEventListener("beforeunload", leaving);
      window.removeEventListener("tidegate:reload", leaving);
      node.remove();
    },
  };
}

// normal has the line ends that a text area gives back, so that reading a file is no change of it.
function normal(text) {
  return text.replace(/\r\n?/g, "\n");
}
