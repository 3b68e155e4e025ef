// Numbers, times and lengths of time as a person reads them.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
const significant = new Intl.NumberFormat("en", { maximumSignificantDigits: 3, minimumSignificantDigits: 3 });
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const minutes = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });

export const NONE = "–";

const known = (value) => value !== null && value !== undefined && Number.isFinite(value);

export function count(value) {
  return known(value) ? whole.format(value) : NONE;
}

export function short(value) {
  return known(value) ? compact.format(value) : NONE;
}

/** Three significant digits; exponents where there would be many zeros. */
export function number(value) {
  if (!known(value)) return NONE;
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e6)) return minus(value.toExponential(2));
  return minus(size >= 1000 ? whole.format(value) : significant.format(value));
}

export function signed(value) {
  return known(value) ? (value > 0 ? "+" : "") + number(value) : NONE;
}

function minus(text) {
  return text.replace(/^-/, "−");
}

export function percent(value, digits = 1) {
  return known(value) ? `${(100 * value).toFixed(digits)}%` : NONE;
}

/** Ticks of an axis need the digits by which they differ, and no more. */
export function tickNumber(value, step) {
  return minus(step >= 1e5 ? short(value) : value.toLocaleString("en", digitsOf(step)));
}

export function tickPercent(value, step) {
  return value.toLocaleString("en", { style: "percent", ...digitsOf(100 * step) });
}

function digitsOf(step) {
  const digits = Math.min(12, Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
  return { minimumFractionDigits: digits, maximumFractionDigits: digits };
}

export function rate(value) {
  if (!known(value)) return NONE;
  return value >= 100 ? whole.format(value) : value.toFixed(value >= 10 || value === 0 ? 0 : 1);
}

/** A score by the name of the interface: accuracy is a share, everything else a number. */
export function score(which, value) {
  return /accuracy$/.test(which) ? percent(value) : number(value);
}

export function bytes(value) {
  if (!known(value)) return NONE;
  const units = ["B", "KB", "MB", "GB", "TB"];
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${value >= 100 || unit === 0 ? Math.round(value) : value.toPrecision(2)} ${units[unit]}`;
}

/** A length of time: 0.4 s, 86 s, 12 min, 3.5 h, 4 days. */
export function duration(seconds) {
  if (!known(seconds)) return NONE;
  const tidy = (value) => (value < 9.95 ? Number(value.toFixed(1)) : Math.round(value));
  if (seconds !== 0 && seconds < 0.95) return `${Math.round(1000 * seconds)} ms`;
  if (seconds < 120) return `${tidy(seconds)} s`;
  if (seconds < 7200) return `${tidy(seconds / 60)} min`;
  if (seconds < 172800) return `${tidy(seconds / 3600)} h`;
  return `${tidy(seconds / 86400)} days`;
}

export function ago(time) {
  if (!known(time)) return NONE;
  const seconds = Date.now() / 1000 - time;
  return seconds < 5 ? "just now" : `${duration(seconds)} ago`;
}

/** The time of day, with the day if that is not today. */
export function at(time, seconds = true) {
  if (!known(time)) return NONE;
  const date = new Date(1000 * time);
  const text = (seconds ? clock : minutes).format(date);
  return date.toDateString() === new Date().toDateString() ? text : `${day.format(date)}, ${text}`;
}

export function dayOf(time) {
  return day.format(new Date(1000 * time));
}

const TITLES = {
  accuracy: "Accuracy",
  mae: "Mean absolute error",
  loss: "Loss",
};
const BASELINES = { no_change: "no change", majority: "majority class", mean: "mean so far", best_constant: "best constant" };

export function scoreTitle(which) {
  return TITLES[which] ?? which;
}

export function baselineTitle(which) {
  return BASELINES[which] ?? which;
}
