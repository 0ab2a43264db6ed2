// Quick actions on a caller. Each is an override: what it replaces and what it will be are shown before it is
// made, and it is undone by one click.
import { h } from "../dom.js";
import { openDialog } from "./dialog.js";
import { diffView, problemBox } from "./parts.js";
import { endChoice } from "./ends.js";
import { rateChoice } from "./ratechoice.js";
import { poolChoice, pauseChoice, resumeChoice } from "./choices.js";
import { dropOverride, setOverride, untilText } from "./overriding.js";

const choices = { rate: rateChoice, pool: poolChoice, pause: pauseChoice, resume: resumeChoice };

// openAction opens the dialog of one action: kind is rate, pool, pause or resume. What a choice offers is
// what is in force when it is opened.
export async function openAction(app, { caller, semantic, kind }) {
  const title = app.t(`p.action.${kind}.title`, { caller });
  try {
    const [detail, overrides] = await Promise.all([
      app.api.get("caller", { id: caller }), app.api.get("overrides"),
    ]);
    show(app, title, kind, choices[kind](app, { detail, overrides, semantic }), overrides);
  } catch (err) {
    openDialog(app, { title, body: problemBox(app, err) });
  }
}

// show puts an action's own part together with its end, its reason and the change that it makes. choice() of the part is
// {name, value or drop, was, submit(ends)}, or null while there is nothing to do, and why() says why.
function show(app, title, kind, part, overrides) {
  const { t } = app;
  const ends = kind === "resume" ? null : endChoice(app);
  const change = h("div", { "aria-live": "polite", "data-testid": "action-change" });
  const standing = (choice) => overrides.find((o) => o.name === choice.name) ?? null;
  const dialog = openDialog(app, {
    title, reason: "", danger: kind === "pause", submit: t(`p.action.${kind}.submit`),
    body: [part.node, ends?.node, h("section", { class: "p-change" }, h("h3", null, t("p.action.change")), change)],
    onSubmit: async (reason) => {
      const choice = part.choice();
      if (choice.drop) await dropOverride(app, standing(choice), reason);
      else await setOverride(app, { name: choice.name, value: choice.value, reason, ends: ends?.value() ?? {} }, standing(choice), choice.said);
    },
  });
  const refresh = () => {
    const choice = part.choice();
    const fits = !ends || choice?.drop || ends.valid();
    if (ends) ends.node.hidden = Boolean(choice?.drop);
    if (!choice || !fits) {
      change.replaceChildren(h("p", { class: "soft" }, choice ? t("p.ends.invalid") : part.why()));
    } else {
      change.replaceChildren(diffView(app, changeText(app, choice, standing(choice), ends)));
    }
    dialog.ready(Boolean(choice) && fits, choice?.submit);
  };
  part.node.addEventListener("input", refresh);
  ends?.onChange(refresh);
  refresh();
}

// changeText is the change as a diff: what stands there now, and what will.
function changeText(app, choice, standing, ends) {
  const { t } = app;
  const before = standing
    ? `- ${t("p.action.override_line", { name: standing.name, value: standing.value, actor: standing.actor, until: untilText(app, standing.until) })}${standing.reason ? ` (${standing.reason})` : ""}`
    : `- ${choice.name} = ${choice.was}${choice.at ? `  (${choice.at})` : ""}`;
  const after = choice.drop
    ? `+ ${t("p.action.file_line", { name: choice.name })}`
    : `+ ${choice.name} = ${choice.value}  (${untilText(app, ends?.until() ?? null)})`;
  return `${before}\n${after}\n`;
}
