// All models at a glance.

import { follow } from "./connection.js";
import { copyable, h, name, refresh } from "./dom.js";
import { ago, baselineTitle, count, duration, number, rate, score, scoreTitle } from "./format.js";
import { alarmIsRecent, beatsBaseline, health, isQuiet, URGENCY } from "./health.js";

const FILTER_FROM = 8;
const AGAIN = 5000; // how often times like "3 min ago" are written again

const COLUMNS = [
  { key: "name", title: "Model" },
  { key: "score", title: "Score, lately", n: true },
  { key: "baseline", title: "Baseline", n: true },
  { key: "loss", title: "Loss, lately", n: true },
  { key: "events", title: "Events", n: true, of: (glance) => -glance.events },
  { key: "rate", title: "Events/s", n: true, of: (glance) => -(glance.events_per_second ?? 0) },
  { key: "pending", title: "Labels awaited", n: true, of: (glance) => -glance.pending },
  { key: "alarms", title: "Drift alarms", n: true, of: (glance) => -glance.alarms },
];

/** Shows the overview in `main`; returns what to call when it is left. */
export function overview(main, page) {
  const summary = h("p", { class: "summary" });
  const filter = h("input", { type: "search", id: "filter", placeholder: "Filter by name", "aria-label": "Filter models by name" });
  const rows = h("tbody", {});
  const sort = { key: "urgency" };
  const headings = COLUMNS.map((column) => {
    const sorts = column.key === "name" || column.of;
    return h("th", { scope: "col", class: column.n ? "n" : null, "data-key": column.key },
      sorts ? h("button", { type: "button", class: "sort", onclick: () => sortBy(column) }, column.title) : column.title);
  });
  const table = h("table", { class: "models" }, h("caption", { class: "visually-hidden" }, "Models of this service"), h("thead", {}, h("tr", {}, headings)), rows);
  const none = h("section", { class: "panel first-steps", hidden: true }, firstSteps(page.needsToken()));
  main.replaceChildren(h("div", { class: "title-row" }, h("h1", {}, "Models"), summary, filter), none, h("div", { class: "panel flush", hidden: true }, table));
  page.title("Models", []);

  let models = null; // not known yet
  const alarms = new Map();

  function sortBy(column) {
    sort.key = sort.key === column.key ? "urgency" : column.key;
    headings.forEach((heading) => {
      if (heading.dataset.key === sort.key) heading.setAttribute("aria-sort", sort.key === "name" ? "ascending" : "descending");
      else heading.removeAttribute("aria-sort");
    });
    draw();
  }

  function ordered() {
    const wanted = filter.value.trim().toLowerCase();
    const byName = (a, b) => (a.name < b.name ? -1 : 1);
    const column = COLUMNS.find((each) => each.key === sort.key);
    const rank = sort.key === "urgency" ? (glance) => URGENCY.indexOf(health(glance).level) : column?.of ?? (() => 0);
    return models.filter((glance) => glance.name.includes(wanted)).sort((a, b) => rank(a) - rank(b) || byName(a, b));
  }

  function draw() {
    if (models === null) return;
    none.hidden = models.length > 0;
    table.parentElement.hidden = models.length === 0;
    filter.hidden = models.length < FILTER_FROM;
    refresh(summary, summaryText(models), () => [summaryText(models)]);
    const shown = ordered();
    const focused = document.activeElement?.dataset?.model;
    if (refresh(rows, [shown, Math.floor(Date.now() / 5000)], () => shown.map(row)) && focused) rows.querySelector(`[data-model="${CSS.escape(focused)}"]`)?.focus();
  }

  filter.addEventListener("input", draw);
  const stream = follow("v1/live", page.stream({
    message(event, data) {
      if (event !== "models") return;
      models = data.models;
      for (const glance of models) {
        if (glance.alarms > (alarms.get(glance.name) ?? Infinity)) page.announce(`Drift alarm in ${glance.name}: ${glance.last_alarm?.text ?? ""}`);
        alarms.set(glance.name, glance.alarms);
      }
      page.alarm(models.some((glance) => ["bad", "warn"].includes(health(glance).level)));
      draw();
    },
  }));
  const timer = setInterval(draw, AGAIN);
  return {
    retry: stream.retry,
    close() {
      clearInterval(timer);
      stream.close();
    },
  };
}

function summaryText(models) {
  if (!models.length) return "";
  const by = (level) => models.filter((glance) => health(glance).level === level).length;
  const [bad, warn] = [by("bad"), by("warn")];
  const rates = models.reduce((sum, glance) => sum + (glance.events_per_second ?? 0), 0);
  const parts = [`${models.length} ${models.length === 1 ? "model" : "models"}`, `${rate(rates)} events/s`];
  if (bad) parts.push(`${bad} with a problem`);
  if (warn) parts.push(`${warn} to look at`);
  if (!bad && !warn) parts.push("all well");
  return parts.join(" · ");
}

function row(glance) {
  const { level, word, text } = health(glance);
  const result = glance.score;
  const cells = {
    score: result ? [h("b", {}, score(result.name, result.recent ?? result.value)), h("small", {}, scoreTitle(result.name).toLowerCase())] : ["–"],
    baseline: result ? [h("span", {}, score(result.name, result.recent === null ? result.baseline_value : result.baseline_recent)), h("small", {}, baselineTitle(result.baseline))] : ["–"],
    loss: [number(glance.recent_loss ?? glance.loss)],
    events: [count(glance.events)],
    rate: [rate(glance.events_per_second), isQuiet(glance) && h("small", {}, `last ${ago(glance.changed)}`)],
    pending: [count(glance.pending), glance.label_delay !== null && h("small", {}, `${duration(glance.label_delay)} delay`)],
    alarms: [count(glance.alarms), Number.isFinite(glance.last_alarm?.time) && h("small", {}, ago(glance.last_alarm.time))],
  };
  const loses = beatsBaseline(result) === false;
  return h("tr", { "data-level": level },
    h("th", { scope: "row" },
      h("a", { href: `#/models/${encodeURIComponent(glance.name)}`, "data-model": glance.name }, name(glance.name)),
      h("span", { class: `badge ${level}` }, word),
      text && h("p", { class: "why" }, text)),
    COLUMNS.slice(1).map(({ key, title }) =>
      h("td", { class: `n${key === "score" && loses ? " loses" : ""}${key === "alarms" && alarmIsRecent(glance) ? " alarmed" : ""}`, "data-title": title }, cells[key])));
}

/** How to send the first event. */
function firstSteps(needsToken) {
  const url = new URL(".", location.href).href.replace(/\/$/, "");
  const auth = needsToken ? ' -H "Authorization: Bearer $TOKEN"' : "";
  const json = ` -H 'Content-Type: application/json'`;
  return [
    h("h2", {}, "No models yet"),
    h("p", {}, "Make one, then send it events. It finds out by itself what the fields are, and whether labels are classes or numbers."),
    copyable(`curl -X PUT ${url}/v1/models/shop${auth}${json} -d '{}'`),
    copyable(`curl ${url}/v1/models/shop/learn${auth}${json} -d '{"price": 3.2, "country": "NZ", "label": "yes"}'`),
    h("p", { class: "hint" }, "This page shows the model as soon as it is there. ",
      needsToken ? "TOKEN is one with the scope admin, from odca serve token create." : "The interface is described in openapi.json."),
  ];
}
