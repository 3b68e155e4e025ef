// The page of one model.

import { follow, get, modelPath } from "./connection.js";
import { timeChart } from "./chart.js";
import { copyable, h, name, refresh } from "./dom.js";
import { baselineTitle, count, duration, number, percent, rate, scoreTitle, tickPercent } from "./format.js";
import { alarmIsRecent, health } from "./health.js";
import { appended, emptyHistory } from "./history.js";
import * as panels from "./panels.js";
import { tryForm } from "./tryform.js";

const SPANS = { hour: "Hour", day: "Day", month: "Month" };
const AGAIN = 60_000; // how often long spans are asked for again
const ERRORS_AGAIN = 10_000;
const DRAW_AGAIN = 5000; // for times like "3 min ago"

/** Shows the model in `main`; returns what to close when it is left. */
export function modelView(main, page, model) {
  const parts = layout(model, page.needsToken());
  main.replaceChildren(...parts.elements);
  page.title(model, [model]);

  let described = null;
  let hour = emptyHistory();
  let shown = hour;
  let span = "hour";
  let measure = null; // which score the large chart shows
  let alarms = Infinity;
  const timers = [];
  const control = new AbortController();

  function draw() {
    if (described) parts.draw(described, shown, measureOf());
  }

  function measureOf() {
    const names = described.score ? [described.score.name, "loss"] : ["loss"];
    parts.measures(names, measure ?? names[0], (chosen) => {
      measure = chosen;
      draw();
    });
    return names.includes(measure) ? measure : names[0];
  }

  async function load() {
    if (span === "hour") shown = hour;
    else {
      try {
        const wanted = span;
        const answer = await get(modelPath(model, `/history?span=${span}`), control.signal);
        if (wanted === span) shown = appended(emptyHistory(), answer);
      } catch {
        return; // the live stream says what is wrong
      }
    }
    draw();
  }

  async function errors() {
    try {
      panels.errorTable(parts.errors, await get(modelPath(model, "/errors"), control.signal));
    } catch (error) {
      if (error.status === 403) refresh(parts.errors, "403", () => h("p", { class: "empty" }, "The last errors are shown to tokens with the scope admin."));
    }
  }

  parts.spans(SPANS, span, (chosen) => {
    span = chosen;
    load();
  });
  timers.push(setInterval(() => span !== "hour" && load(), AGAIN), setInterval(() => page.isLive() && errors(), ERRORS_AGAIN), setInterval(draw, DRAW_AGAIN));
  errors();

  const stream = follow(modelPath(model, "/live"), page.stream({
    message(event, data) {
      if (event === "model") {
        described = data;
        if (data.alarms > alarms) page.announce(`Drift alarm: ${data.last_alarm?.text ?? ""}`);
        alarms = data.alarms;
        page.alarm(["bad", "warn"].includes(health(data).level));
      } else if (event === "history") {
        hour = appended(hour, data);
        if (span === "hour") shown = hour;
      }
      draw();
    },
  }));
  return {
    retry: stream.retry,
    close() {
      stream.close();
      control.abort();
      timers.forEach(clearInterval);
    },
  };
}

function panel(title, hint, ...children) {
  const id = `panel-${title.toLowerCase().replace(/[^a-z]+/g, "-")}`;
  return h("section", { class: "panel", "aria-labelledby": id }, h("h2", { id }, title), hint && h("p", { class: "hint" }, hint), children);
}

/** The elements of the page, and `draw`, which puts numbers into them. */
function layout(model, needsToken) {
  const badge = h("span", { class: "badge wait" }, "…");
  const why = h("p", { class: "banner", hidden: true });
  const collecting = h("section", { class: "panel", hidden: true });
  const numbers = h("dl", { class: "figures" });
  const measureChoice = h("fieldset", { class: "choice" });
  const spanChoice = h("fieldset", { class: "choice" });
  const box = () => h("div", {});
  const [scores, alarms, weights, experts, picture, bins, facts, storage, errors, topics] = Array.from({ length: 10 }, box);
  const labels = h("dl", { class: "facts" });
  const aboutList = h("dl", { class: "facts" });
  facts.append(labels);
  storage.append(aboutList);
  const binTable = h("details", { class: "as-table" }, h("summary", {}, "Table", h("span", { class: "visually-hidden" }, " of the calibration")), bins);

  const charts = {
    accuracy: timeChart({ title: "Accuracy", hint: "Progressive: each event is predicted before it is learned.", format: (value) => percent(value), tick: tickPercent, bounds: [0, 1], height: 260 }),
    mae: timeChart({ title: "Mean absolute error", hint: "Progressive: each event is predicted before it is learned.", format: number, from: 0, height: 260 }),
    loss: timeChart({ title: "Loss", hint: "Progressive: each event is predicted before it is learned.", format: number, height: 260 }),
    rate: timeChart({ title: "Events per second", format: rate, from: 0, height: 140 }),
    pending: timeChart({ title: "Labels awaited", format: count, from: 0, height: 140 }),
    delay: timeChart({ title: "Label delay", format: duration, tick: duration, from: 0, height: 140 }),
    groups: timeChart({ title: "Memories over time", format: (value) => percent(value, 0), tick: tickPercent, stacked: true, height: 220 }),
  };
  const main = ["accuracy", "mae", "loss"].map((each) => charts[each].element);
  const trial = tryForm(model, needsToken);
  const expertPanel = panel("What the model believes in", "How much weight each kind of expert has: those that predict well gain it.", charts.groups.element, experts);
  const topicPanel = panel("Topics", "Where its events come from. A message that cannot be learned is skipped.", topics);
  topicPanel.hidden = true;
  const live = h("div", { class: "panels" },
    h("section", { class: "panel wide", "aria-label": "Score over time" }, h("div", { class: "choices" }, measureChoice, spanChoice), main, scores),
    h("div", { class: "stack" },
      panel("Drift alarms", null, alarms),
      panel("Last errors", null, errors),
      panel("Weights that matter", "The largest weights of the steady answer, and how each moved over the time shown.", weights),
      expertPanel),
    h("div", { class: "stack" },
      panel("Try a prediction", "Nothing is learned or stored.", trial.element),
      panel("Throughput and labels", null, charts.rate.element, charts.pending.element, charts.delay.element, facts),
      panel("Calibration", "How often predictions came true, beside how probable they were. On the dashed line both are the same.", picture, binTable),
      panel("About", null, storage)));
  live.hidden = true;
  numbers.hidden = true;

  function draw(described, history, measure) {
    const { level, word, text } = health(described);
    badge.className = `badge ${level}`;
    refresh(badge, word, () => [word]);
    why.hidden = text === "" || described.state === "collecting";
    why.className = `banner ${level}`;
    refresh(why, text, () => [alarmIsRecent(described) && level === "warn" ? h("b", {}, "Drift ") : null, text]);
    const waits = described.state === "collecting" || !described.labels; // one that is loaded, or has failed, is known at a glance only
    collecting.hidden = !described.collecting;
    if (described.collecting) refresh(collecting, described.collecting, () => collectingPanel(described.collecting, model, needsToken));
    topicPanel.hidden = !described.sources?.length;
    if (described.sources?.length) panels.topicTable(topics, described);
    live.hidden = numbers.hidden = waits;
    if (!waits) drawLive(described, history, measure);
  }

  function drawLive(described, history, measure) {
    panels.figures(numbers, described);
    panels.scoreTable(scores, described);
    panels.alarmList(alarms, described, history);
    panels.weightTable(weights, described, history);
    panels.calibration(picture, bins, described);
    binTable.hidden = !described.calibration?.length;
    expertPanel.hidden = !described.experts;
    if (described.experts) panels.expertShares(experts, described.experts);
    panels.labelFacts(labels, described);
    panels.about(aboutList, described);
    trial.update(described);

    const chart = (which, series) => charts[which].update({ time: history.time, events: history.events, every: history.every, alarms: history.alarms, series });
    for (const each of ["accuracy", "mae", "loss"]) charts[each].element.hidden = each !== measure;
    chart(measure, measure === "loss" ? [{ name: "model", values: history.loss, look: "s-model" }] : scoreSeries(history.scores, measure));
    chart("rate", [{ name: "events per second", values: history.events_per_second, look: "s-model" }]);
    chart("pending", [{ name: "labels awaited", values: history.pending, look: "s-model" }]);
    chart("delay", history.label_delay.some((value) => value !== null) ? [{ name: "mean delay", values: history.label_delay, look: "s-model" }] : []);
    chart("groups", [...history.groups].map(([group, values], i) => ({ name: group, values, look: `g${i % 8}` })));
  }

  return {
    elements: [
      h("div", { class: "title-row" }, h("h1", {}, name(model)), badge),
      why, collecting, numbers, topicPanel, live,
    ],
    errors,
    draw,
    measures: (names, chosen, on) => choice(measureChoice, "Measure", Object.fromEntries(names.map((each) => [each, scoreTitle(each)])), chosen, on),
    spans: (names, chosen, on) => choice(spanChoice, "Time shown", names, chosen, on),
  };
}

/** The model first, then its baselines. */
function scoreSeries(scores, measure) {
  const baselines = [...scores.keys()].filter((each) => each !== measure && each.endsWith(`_${measure}`));
  return [
    ...(scores.has(measure) ? [{ name: "model", values: scores.get(measure), look: "s-model" }] : []),
    ...baselines.map((each, i) => ({ name: baselineTitle(each.slice(0, -measure.length - 1)), values: scores.get(each), look: `s-base${i % 3}` })),
  ];
}

/** Radio buttons that look like a switch. */
function choice(fieldset, legend, names, chosen, on) {
  refresh(fieldset, names, () => [h("legend", { class: "visually-hidden" }, legend), Object.entries(names).map(([value, title]) =>
    h("label", {}, h("input", { type: "radio", name: legend, value, checked: value === chosen, onchange: () => on(value) }), h("span", {}, title)))]);
}

function collectingPanel({ events, needed, why }, model, needsToken) {
  const url = new URL(modelPath(model, "/learn"), location.href).href;
  const auth = needsToken ? ' -H "Authorization: Bearer $TOKEN"' : "";
  return [h("h2", {}, "Collecting its first events"), h("p", {}, why),
    h("label", { class: "progress" }, `${count(events)} of ${count(needed)} labelled events`, h("progress", { max: needed, value: events })),
    h("p", {}, "Send labelled events:"), copyable(`curl ${url}${auth} -H 'Content-Type: application/json' -d '{"price": 3.2, "country": "NZ", "label": "yes"}'`)];
}
