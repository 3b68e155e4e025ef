// The parts of a model's page that are not charts over time: each is a function from the answer of the service to elements.

import { h, name, refresh } from "./dom.js";
import { ago, at, baselineTitle, bytes, count, duration, NONE, number, percent, rate, score, scoreTitle, signed } from "./format.js";
import { beatsBaseline } from "./health.js";
import { latest } from "./history.js";
import { calibrationPicture, calibrationTable, calibrationText, shareBar, signedBar, sparkline } from "./marks.js";
import { extent } from "./scales.js";

const MEMBERS = 6;
const WEIGHTS = 12;
const ALARMS = 20;

/** The numbers at the top. */
export function figures(element, model) {
  const result = model.score;
  const lately = result && result.recent !== null;
  const loses = beatsBaseline(result) === false;
  const difference = result && result.baseline !== null && (lately ? result.recent - result.baseline_recent : result.value - result.baseline_value);
  const items = [];
  if (result) {
    const gap = result.name === "accuracy" ? `${difference >= 0 ? "+" : "−"}${Math.abs(100 * difference).toFixed(1)} points` : signed(difference);
    items.push(figure(`${scoreTitle(result.name)}${lately ? ", lately" : ""}`, score(result.name, lately ? result.recent : result.value),
      result.baseline === null ? "no baseline yet" : `${gap} against “${baselineTitle(result.baseline)}”`, loses ? "loses" : ""));
    items.push(figure(`${scoreTitle(result.name)}, all events`, score(result.name, result.value), `${baselineTitle(result.baseline ?? "no baseline")} ${score(result.name, result.baseline_value)}`));
  }
  items.push(figure("Loss, lately", number(model.recent_loss), `all events ${number(model.loss)}`));
  items.push(figure("Events learned", count(model.events), `${count(model.features)} features`));
  items.push(figure("Events per second", rate(model.events_per_second), `last event ${ago(model.changed)}`));
  items.push(figure("Labels awaited", count(model.pending), model.label_delay === null ? "no delayed labels lately" : `mean delay ${duration(model.label_delay)}`));
  items.push(figure("Drift alarms", count(model.alarms), model.last_alarm ? `last at event ${count(model.last_alarm.event)}` : "none so far", model.alarms ? "alarmed" : ""));
  refresh(element, items.map((item) => item.outerHTML), () => items);
}

function figure(title, value, note, look = "") {
  return h("div", { class: `figure ${look}` }, h("dt", {}, title), h("dd", {}, h("b", {}, value), h("small", {}, note)));
}

/** All scores beside all baselines. */
export function scoreTable(element, model) {
  refresh(element, model.scores, () => {
    const baselines = [...new Set(model.scores.flatMap((each) => Object.keys(each.baselines)))];
    return h("table", {}, h("caption", { class: "visually-hidden" }, "Scores over all events, beside the baselines"),
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Over all events"), h("th", { scope: "col", class: "n" }, "model"),
        baselines.map((each) => h("th", { scope: "col", class: "n", title: model.baseline_titles?.[each] }, baselineTitle(each))))),
      h("tbody", {}, model.scores.map((each) => h("tr", {}, h("th", { scope: "row" }, each.title), h("td", { class: "n" }, h("b", {}, score(each.name, each.value))),
        baselines.map((baseline) => h("td", { class: "n" }, score(each.name, each.baselines[baseline])))))));
  });
}

/** Drift alarms, the newest first, with their times where the history knows them. */
export function alarmList(element, model, history) {
  const drift = model.drift ?? { rises: [], columns: [] };
  const times = new Map(history.alarms.map((alarm) => [alarm.event, alarm.time]));
  const all = [...drift.rises.map((rise) => ({ ...rise, column: null })), ...drift.columns].sort((a, b) => b.event - a.event);
  refresh(element, [all, [...times]], () => {
    if (!all.length) return h("p", { class: "empty" }, "No drift so far: neither did the loss rise, nor did a column change.");
    const rows = all.slice(0, ALARMS).map((alarm) => h("tr", {}, h("td", { class: "when" }, times.has(alarm.event) ? at(times.get(alarm.event)) : NONE),
      h("td", { class: "n" }, count(alarm.event)), h("td", {}, alarmText(alarm))));
    return h("table", {}, h("caption", { class: "visually-hidden" }, "Drift alarms, the newest first"),
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Noticed"), h("th", { scope: "col", class: "n" }, "at event"), h("th", { scope: "col" }, "What changed"))), h("tbody", {}, rows));
  });
}

const CHANGES = {
  larger: "mean", smaller: "mean", missing: "share of missing values", common: "share of its most frequent value",
  uncommon: "share of values other than the most frequent one", new: "share of new values",
};

function alarmText(alarm) {
  if (alarm.column === null) return [`The loss rose from ${number(alarm.before)} to ${number(alarm.after)}, since event ${count(alarm.since)}.`];
  const value = ["larger", "smaller"].includes(alarm.what) ? number : percent;
  return [name(alarm.column), ` changed: ${CHANGES[alarm.what] ?? alarm.what} ${value(alarm.before)} before, ${value(alarm.after)} since event ${count(alarm.since)}.`];
}

/** The largest weights, and how each went over the history. */
export function weightTable(element, model, history) {
  refresh(element, [model.top_weights, model.outputs, history.time], () => {
    const rows = model.top_weights.flatMap(({ feature, weights }) => weights.map((weight, k) => ({ feature, weight, output: model.outputs[k] })))
      .sort((a, b) => Math.abs(b.weight) - Math.abs(a.weight)).slice(0, WEIGHTS);
    if (!rows.length) return h("p", { class: "empty" }, "No weights yet.");
    const many = model.outputs.length > 1;
    const went = (row) => history.weights.get(many ? `${row.feature} · ${row.output}` : row.feature) ?? [];
    // Bars are as long as weights were over the time shown, so that weights that have vanished look like it.
    const [low, high] = extent(rows.map((row) => [row.weight, ...went(row)]));
    const most = Math.max(high, -low);
    const size = (weight) => (Math.abs(weight) < 1e-6 * most ? "≈ 0" : number(weight));
    return h("table", { class: "bars weights" }, h("caption", { class: "visually-hidden" }, "The largest weights of the steady answer"),
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Feature"), many && h("th", { scope: "col" }, "Class"), h("th", { scope: "col", class: "n" }, "Weight"),
        h("th", { scope: "col", class: "bar-cell" }, h("span", { class: "visually-hidden" }, "Size")), h("th", { scope: "col" }, "How it moved"), h("th", { scope: "col", class: "n" }, "Change"))),
      h("tbody", {}, rows.map((row) => {
        const values = went(row);
        const first = values.find((value) => value !== null) ?? null;
        const last = latest(values);
        return h("tr", {}, h("th", { scope: "row" }, name(row.feature)), many && h("td", {}, name(String(row.output))), h("td", { class: "n" }, size(row.weight)),
          h("td", { class: "bar-cell" }, signedBar(row.weight, most)), h("td", { class: "spark-cell" }, sparkline(values)),
          h("td", { class: "n" }, first === null ? NONE : signed(last - first)));
      })));
  });
}

/** What the automatic model relies on now, in words and in shares. */
export function expertShares(element, experts) {
  refresh(element, experts, () => [
    h("p", {}, experts.text),
    h("div", { class: "columns" },
      shareTable("Experts, while labels come in", experts.members),
      shareTable("Members of the steady answer", experts.steady),
      Object.keys(experts.products ?? {}).length > 0 && sizeTable("Products of features in use", experts.products)),
  ]);
}

function shareTable(title, shares) {
  const rows = Object.entries(shares).filter(([, share]) => share >= 0.001).sort((a, b) => b[1] - a[1]).slice(0, MEMBERS);
  return h("table", { class: "bars" }, h("caption", {}, title), h("tbody", {}, rows.map(([each, share]) =>
    h("tr", {}, h("th", { scope: "row" }, name(each)), h("td", { class: "n" }, percent(share)), h("td", { class: "bar-cell" }, shareBar(share))))));
}

function sizeTable(title, sizes) {
  const rows = Object.entries(sizes).sort((a, b) => b[1] - a[1]).slice(0, MEMBERS);
  return h("table", { class: "bars" }, h("caption", {}, title), h("tbody", {}, rows.map(([each, size]) =>
    h("tr", {}, h("th", { scope: "row" }, name(each)), h("td", { class: "n" }, number(size)), h("td", { class: "bar-cell" }, shareBar(size / rows[0][1]))))));
}

/** Whether probabilities are what they say. `table` keeps its state. */
export function calibration(picture, table, model) {
  const bins = model.calibration ?? [];
  refresh(picture, bins, () => (bins.length ? [calibrationPicture(bins), h("p", { class: "hint" }, calibrationText(bins))]
    : h("p", { class: "empty" }, model.task === "numbers" ? "A model of numbers has no probabilities." : "No labelled events yet.")));
  refresh(table, bins, () => bins.length && calibrationTable(bins));
}

/** Facts about labels that come late. */
export function labelFacts(element, { labels }) {
  const facts = [["Labelled late", count(labels.labelled)], ["Oldest waits", duration(labels.oldest)], ["Expired", count(labels.expired)], ["Dropped", count(labels.dropped)],
    ["Kept for", duration(labels.max_age)], ["At most", count(labels.max_pending)]];
  factList(element, facts);
}

/** Facts about the model and what it has on the disk. */
export function about(element, model) {
  const { storage, roles } = model;
  const role = (which) => roles?.[which] && [which, name(roles[which])];
  factList(element, [
    ["Task", model.task ?? "not known yet"], ["Mode", model.mode ?? "not known yet"], model.classes && ["Classes", classNames(model.classes)],
    role("label") && ["Label", name(roles.label)], role("time") && ["Time", name(roles.time)], role("weight") && ["Weight", name(roles.weight)],
    ["Created", at(model.created)], ["Log", bytes(storage.log_bytes)], ["Snapshot", `${bytes(storage.snapshot_bytes)}${storage.snapshot_time ? `, ${ago(storage.snapshot_time)}` : ""}`],
    ["Position", `${count(model.position)}, in the snapshot ${count(storage.snapshot_position)}`],
  ].filter(Boolean));
}

function classNames(classes) {
  const shown = classes.slice(0, 8).flatMap((each, i) => [i ? ", " : "", name(String(each))]);
  return h("span", {}, shown, classes.length > 8 ? ` and ${classes.length - 8} more` : "");
}

function factList(element, facts) {
  const items = facts.map(([title, value]) => h("div", {}, h("dt", {}, title), h("dd", {}, value)));
  refresh(element, items.map((item) => item.outerHTML), () => items);
}

const FATES = { learn: "its events are learned", label: "its labels are learned", predict: "its events wait for labels" };

/** The topics that the model follows: how far it has read them, and what it could not learn. */
export function topicTable(element, { sources }) {
  refresh(element, sources, () => h("div", { class: "table-scroll", tabindex: "0", role: "region", "aria-label": "Topics" }, h("table", {},
    h("caption", { class: "visually-hidden" }, "Topics that the model follows"),
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Topic"), h("th", { scope: "col" }, "State"), h("th", { scope: "col", class: "n" }, "Messages"),
      h("th", { scope: "col", class: "n" }, "To read"), h("th", { scope: "col", class: "n" }, "Skipped"))),
    h("tbody", {}, sources.flatMap((source) => [
      h("tr", {}, h("th", { scope: "row" }, name(source.source), h("small", {}, source.address)),
        h("td", {}, h("span", { class: `badge ${source.state === "following" ? "ok" : source.problem ? "bad" : "wait"}` }, source.state), h("small", {}, FATES[source.route] ?? "")),
        h("td", { class: "n" }, count(source.messages)), h("td", { class: "n" }, source.lag === null ? NONE : count(source.lag)), h("td", { class: "n" }, count(source.refused))),
      (source.problem || source.note) && h("tr", {}, h("td", { colspan: "5" }, source.problem ?? source.note)),
      source.last_refused && h("tr", {}, h("td", { colspan: "5" }, h("small", {}, `Last skipped, ${at(source.last_refused.time)}: message ${source.last_refused.place}. `), h("bdi", {}, source.last_refused.detail))),
    ])))));
}

/** The last requests that were refused. */
export function errorTable(element, { errors, count: all }) {
  refresh(element, [errors, Math.floor(Date.now() / 10000)], () => {
    if (!errors.length) return h("p", { class: "empty" }, "No request was refused since the service started.");
    return [h("p", { class: "hint" }, `${count(all)} refused since the service started; the newest first.`),
      h("div", { class: "table-scroll", tabindex: "0", role: "region", "aria-label": "The last errors" }, h("table", {},
        h("caption", { class: "visually-hidden" }, "The last requests that were refused"),
        h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "When"), h("th", { scope: "col" }, "Request"), h("th", { scope: "col", class: "n" }, "Status"), h("th", { scope: "col" }, "Why"))),
        h("tbody", {}, errors.map((error) => h("tr", {}, h("td", { class: "when" }, at(error.time), h("small", {}, ago(error.time))), h("td", {}, error.route),
          h("td", { class: "n" }, String(error.status)), h("td", {}, h("bdi", {}, error.detail), error.request_id && h("small", {}, `request ${error.request_id}`)))))))];
  });
}
