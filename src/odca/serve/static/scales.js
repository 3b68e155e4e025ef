// From values to places on a chart, and where the ticks stand.

import { at, dayOf } from "./format.js";

const STEPS = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800, 1209600];

export function linear([low, high], [from, to]) {
  const slope = high > low ? (to - from) / (high - low) : 0;
  return (value) => from + slope * (value - low);
}

/** Ticks at multiples of 1, 2 or 5 times a power of ten, the outer ones beyond the values. */
export function niceTicks(low, high, about) {
  if (!(high > low)) [low, high] = low === 0 ? [0, 1] : [low - Math.abs(low) / 10, low + Math.abs(low) / 10];
  const rough = (high - low) / about;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough);
  const ticks = [];
  for (let k = Math.floor(low / step + 1e-9); k <= Math.ceil(high / step - 1e-9); k += 1) ticks.push(k * step);
  return ticks;
}

/** The least and the largest of the known values, or null. */
export function extent(lists) {
  let low = Infinity;
  let high = -Infinity;
  for (const values of lists) {
    for (const value of values) {
      if (value === null) continue;
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
  }
  return low <= high ? [low, high] : null;
}

/** Ticks of local time, with their texts. */
export function timeTicks(from, to, most) {
  const step = STEPS.find((each) => (to - from) / each <= most) ?? STEPS.at(-1);
  const shift = -60 * new Date(1000 * to).getTimezoneOffset();
  const ticks = [];
  for (let t = Math.ceil((from + shift) / step) * step - shift; t <= to; t += step) {
    const midnight = (t + shift) % 86400 === 0;
    ticks.push({ time: t, text: step >= 86400 || midnight ? dayOf(t) : at(t, step < 60).replace(/^.*, /, "") });
  }
  return ticks;
}

/** Which points begin a new stretch of a line: those after a gap that is much longer than usual. */
export function stretches(time, every) {
  const gaps = time.slice(1).map((each, i) => each - time[i]);
  const usual = [...gaps].sort((a, b) => a - b)[Math.floor(gaps.length / 2)] ?? every;
  const longest = Math.max(3 * every, 6 * usual);
  return time.map((each, i) => i === 0 || each - time[i - 1] > longest);
}
