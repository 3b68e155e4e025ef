// The history of a model: columns over time, to which live points are appended.

const KEPT = 360;

export function emptyHistory() {
  return {
    time: [], events: [], events_per_second: [], loss: [], pending: [], label_delay: [],
    scores: new Map(), groups: new Map(), weights: new Map(), alarms: [], every: 10,
  };
}

const LISTS = ["time", "events", "events_per_second", "loss", "pending", "label_delay"];
const FAMILIES = ["scores", "groups", "weights"];

/** `history` with the points of `news` after it; points of the same time or later are replaced. */
export function appended(history, news) {
  const start = news.time[0] ?? Infinity;
  let keep = history.time.findIndex((time) => time >= start);
  if (keep < 0) keep = history.time.length;
  const drop = Math.max(0, keep + news.time.length - KEPT);
  const join = (old, more) => [...old.slice(0, keep), ...more].slice(drop);
  const nothing = (length) => new Array(length).fill(null);

  const result = { every: news.every, alarms: mergedAlarms(history.alarms, news.alarms ?? []) };
  for (const list of LISTS) result[list] = join(history[list], news[list]);
  for (const family of FAMILIES) {
    const fresh = new Map(Object.entries(news[family]));
    const names = new Set([...history[family].keys(), ...fresh.keys()]);
    result[family] = new Map();
    for (const each of names) {
      const old = history[family].get(each) ?? nothing(history.time.length);
      result[family].set(each, join(old, fresh.get(each) ?? nothing(news.time.length)));
    }
  }
  return result;
}

function mergedAlarms(old, news) {
  const all = new Map([...old, ...news].map((alarm) => [`${alarm.event} ${alarm.text}`, alarm]));
  return [...all.values()].sort((a, b) => a.time - b.time);
}

/** The last value that is known, or null. */
export function latest(values) {
  for (let i = values.length - 1; i >= 0; i -= 1) if (values[i] !== null) return values[i];
  return null;
}
