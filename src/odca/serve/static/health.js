// How a model is, in a word: the same in the overview and on its own page.

import { ago } from "./format.js";

const RECENT = 3600;
const QUIET = 60;

/** Whether the score is at least as good as its baseline, lately if anything was learned lately; null if that is not known. */
export function beatsBaseline(score) {
  if (!score) return null;
  const lately = score.recent !== null && score.baseline_recent !== null;
  const [model, baseline] = lately ? [score.recent, score.baseline_recent] : [score.value, score.baseline_value];
  if (model === null || baseline === null) return null;
  return score.better === "higher" ? model >= baseline : model <= baseline;
}

export function isQuiet(glance) {
  return glance.changed !== null && Date.now() / 1000 - glance.changed > QUIET;
}

export function alarmIsRecent(glance) {
  const time = glance.last_alarm?.time;
  return Number.isFinite(time) && Date.now() / 1000 - time < RECENT;
}

/** {level: "bad" | "warn" | "wait" | "ok", word, text}; text says why, if there is more to say. */
export function health(glance) {
  if (glance.state === "failed") return { level: "bad", word: "failed", text: glance.problem ?? "" };
  if (glance.problem) return { level: "bad", word: "problem", text: glance.problem };
  const broken = (glance.sources ?? []).find((source) => source.problem);
  if (broken) return { level: "bad", word: "topic", text: broken.problem };
  if (alarmIsRecent(glance)) return { level: "warn", word: "drift", text: `${ago(glance.last_alarm.time)}: ${glance.last_alarm.text}` };
  if (glance.state === "collecting") return { level: "wait", word: "collecting", text: "The model collects its first events." };
  if (glance.state === "loading") return { level: "wait", word: "loading", text: "" };
  if (beatsBaseline(glance.score) === false) return { level: "warn", word: "below baseline", text: "" };
  return { level: "ok", word: glance.state, text: "" };
}

export const URGENCY = ["bad", "warn", "wait", "ok"];
