// A form to try a prediction: fields from the model's columns, and the answer with its explanation.

import { modelPath, post } from "./connection.js";
import { copyable, h, name } from "./dom.js";
import { NONE, number, percent, signed } from "./format.js";
import { shareBar, signedBar } from "./marks.js";

const SHOWN = 12;
const PARTS = 15;
const COVERAGE = 0.9;

/** The panel. `update(model)` adds the fields that appear. */
export function tryForm(model, needsToken) {
  const fields = new Map(); // name -> {input, kind}
  const grid = h("div", { class: "fields" });
  const more = h("details", { class: "more-fields", hidden: true }, h("summary", {}, "More fields"), h("div", { class: "fields" }));
  const steady = h("select", { id: "try-answer" }, h("option", { value: "live" }, "while labels keep coming in"), h("option", { value: "steady" }, "while none do"));
  const answer = h("div", { class: "answer", role: "status", "aria-live": "polite" });
  const button = h("button", { type: "submit", class: "primary" }, "Predict");
  const hint = h("p", { class: "hint", hidden: true }, "What reads like a number is sent as one. Put it in quotes to send a text.");
  const form = h("form", { novalidate: true, "aria-label": "Try a prediction" }, grid, more,
    hint, h("p", { class: "actions" }, h("label", { class: "inline" }, "Answer ", steady), button));
  const empty = h("p", { class: "empty" }, "The fields appear with the first events.");
  const element = h("div", { class: "try" }, empty, form, answer);

  function add(field, kind) {
    const id = `try-${fields.size}`;
    const input = control(id, kind);
    fields.set(field, { input, kind });
    const target = fields.size <= SHOWN ? grid : more.lastElementChild;
    more.hidden = fields.size <= SHOWN;
    target.append(h("div", { class: "field" }, h("label", { for: id }, name(field), h("small", {}, kind ?? "")), input));
  }

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const { values, wrong } = read(fields);
    if (wrong) {
      answer.replaceChildren(h("p", { class: "error" }, "“", name(wrong), "” must be a number."));
      fields.get(wrong).input.focus();
      return;
    }
    button.disabled = true;
    try {
      const query = `?answer=${steady.value}`;
      const [explained, wide] = await Promise.all([
        post(modelPath(model, `/explain${query}`), values),
        post(modelPath(model, `/predict${query}&coverage=${COVERAGE}`), values).catch(() => ({})),
      ]);
      answer.replaceChildren(...answerOf(explained, wide), curl(model, values, needsToken));
    } catch (error) {
      answer.replaceChildren(h("p", { class: "error" }, error.message));
    } finally {
      button.disabled = false;
    }
  });

  return {
    element,
    update(described) {
      const kinds = new Map(Object.entries(described.columns ?? {}));
      const roles = new Set(Object.values(described.roles ?? {}));
      for (const field of new Set([...kinds.keys(), ...(described.fields ?? [])])) if (!fields.has(field) && !roles.has(field)) add(field, kinds.get(field));
      hint.hidden = [...fields.values()].every(({ kind }) => kind);
      empty.hidden = fields.size > 0;
      form.hidden = fields.size === 0;
    },
  };
}

function control(id, kind) {
  const options = { id, autocomplete: "off", spellcheck: "false" };
  if (kind === "boolean") return h("select", { id }, ["", "true", "false"].map((value) => h("option", { value }, value || "(missing)")));
  if (kind === "text") return h("textarea", { ...options, rows: 2 });
  return h("input", { ...options, type: "text", inputmode: kind === "number" ? "decimal" : null, placeholder: "(missing)" });
}

/** The event of the form; what is left empty is missing. `wrong` names a number that is none. */
function read(fields) {
  const entries = [];
  for (const [field, { input, kind }] of fields) {
    const text = input.value.trim();
    input.removeAttribute("aria-invalid");
    if (text === "") continue;
    const numeric = Number(text);
    if (kind === "number" && !Number.isFinite(numeric)) {
      input.setAttribute("aria-invalid", "true");
      return { wrong: field };
    }
    entries.push([field, kind === "number" ? numeric : kind === "boolean" ? text === "true" : kind ? input.value : guessed(input.value)]);
  }
  return { values: Object.fromEntries(entries) };
}

/** The value of a field whose kind was not declared, as in an event: a number or a boolean if it reads like one; "5" in quotes is a text. */
function guessed(text) {
  const word = text.trim();
  if (/^-?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(word)) return Number(word);
  if (word === "true" || word === "false") return word === "true";
  return /^".+"$/s.test(word) ? word.slice(1, -1) : text;
}

/** A class as it is called, though it may be called 0; a number with three digits. */
const shown = ({ prediction, probabilities: classes }) => (classes ? String(prediction) : number(prediction));

function answerOf(explained, wide) {
  if (explained.prediction === null) return [h("p", {}, "The model is still collecting its first events and predicts nothing yet.")];
  const parts = [h("p", { class: "prediction" }, h("small", {}, "Prediction"), name(shown(explained)))];
  if (wide.interval) parts.push(h("p", {}, `${percent(COVERAGE, 0)} of the labels lie between ${number(wide.interval[0])} and ${number(wide.interval[1])}.`));
  if (wide.set) parts.push(h("p", {}, `One of these in ${percent(COVERAGE, 0)} of the cases: `, wide.set.flatMap((each, i) => [i ? ", " : "", name(String(each))])));
  if (explained.probabilities) parts.push(probabilities(explained.probabilities));
  if (explained.parts?.length) parts.push(contributions(explained));
  return parts;
}

function probabilities(all) {
  const sorted = Object.entries(all).sort((a, b) => b[1] - a[1]).slice(0, PARTS);
  return h("table", { class: "bars" }, h("caption", {}, "Probabilities"),
    h("tbody", {}, sorted.map(([each, share]) => h("tr", {}, h("th", { scope: "row" }, name(each)), h("td", { class: "n" }, percent(share)), h("td", { class: "bar-cell" }, shareBar(share))))));
}

function contributions({ parts, outputs, margin, prediction }) {
  const which = Math.max(0, outputs.indexOf(outputs.length > 1 ? String(prediction) : outputs[0]));
  const most = Math.max(...parts.map((part) => Math.abs(part.adds[which])));
  const rows = parts.slice(0, PARTS).map((part) => h("tr", {}, h("th", { scope: "row" }, part.feature === "" ? h("i", {}, "constant") : name(part.feature)),
    h("td", { class: "n" }, signed(part.adds[which])), h("td", { class: "bar-cell" }, signedBar(part.adds[which], most))));
  const rest = parts.slice(PARTS).reduce((sum, part) => sum + part.adds[which], 0);
  if (parts.length > PARTS) rows.push(h("tr", {}, h("th", { scope: "row" }, h("i", {}, `${parts.length - PARTS} more`)), h("td", { class: "n" }, signed(rest)), h("td", {})));
  const target = outputs[which] === "" ? "the number" : ["the log-odds of ", name(String(outputs[which]))];
  return h("table", { class: "bars" }, h("caption", {}, "What each feature adds to ", target, `, in sum ${margin ? signed(margin[which]) : NONE}`), h("tbody", {}, rows));
}

/** The same request for a shell: single quotes inside a single-quoted text end it, stand escaped, and begin it again. */
function curl(model, values, needsToken) {
  const auth = needsToken ? ' -H "Authorization: Bearer $TOKEN"' : "";
  const body = JSON.stringify(values).replaceAll("'", `'\\''`);
  const url = new URL(modelPath(model, "/explain"), location.href).href;
  return h("details", {}, h("summary", {}, "As a command"), copyable(`curl ${url}${auth} -H 'Content-Type: application/json' -d '${body}'`));
}
