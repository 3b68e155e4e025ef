// Charts over time: lines beside baselines, or shares as stacked areas. With a pointer or the arrow keys one reads the points; the same
// numbers are in a table below.

import { h, name, svg } from "./dom.js";
import { at, count, tickNumber } from "./format.js";
import { extent, linear, niceTicks, stretches, timeTicks } from "./scales.js";

const TOP = 14;
const RIGHT = 10;
const BOTTOM = 22;

/**
 * A figure. `title` and `hint` are texts, `format` writes a value and `tick` one of the axis, `stacked` draws shares that sum to one, `from` is a value that the axis
 * must show, `bounds` are those it never passes. `update({time, events, every, alarms, series})` draws: series are {name, values, look}, where `look` is a class.
 */
export function timeChart({ title, hint, format, tick = tickNumber, stacked = false, from = null, bounds = [-Infinity, Infinity], height = 180 }) {
  const plot = svg("svg", { class: "plot", height, role: "presentation", focusable: "false" });
  const tip = h("div", { class: "tip", hidden: true, "aria-hidden": "true" });
  const stage = h("div", {
    class: "stage", tabindex: "0", role: "slider", "aria-label": `${title}: points in time`, "aria-valuemin": 0, "aria-valuemax": 0,
    "aria-valuenow": 0, "aria-valuetext": "no points yet",
  }, plot, tip);
  const legend = h("ul", { class: "legend" });
  const body = h("div", { class: "table-scroll", tabindex: "0", role: "region", "aria-label": `${title}: table` });
  const table = h("details", { class: "as-table" }, h("summary", {}, "Table", h("span", { class: "visually-hidden" }, ` of ${title}`)), body);
  const nothing = h("p", { class: "empty" }, "Nothing to draw yet. While events come in, a point is made every few seconds.");
  const element = h("figure", { class: "chart" }, h("figcaption", {}, h("h3", {}, title), hint && h("p", { class: "hint" }, hint)), legend, stage, nothing, table);

  let data = { time: [], events: [], series: [], alarms: [], every: 10 };
  let place = null; // what the last drawing knows: {x, y, left, right}
  let chosen = null;

  function draw() {
    const width = stage.clientWidth;
    const { time, series } = data;
    const empty = !series.some(({ values }) => values.some((value) => value !== null));
    stage.hidden = legend.hidden = table.hidden = empty;
    nothing.hidden = !empty;
    if (empty || width === 0) return;
    const ticks = valueTicks();
    const texts = ticks.map((value) => tick(value, ticks[1] - ticks[0]));
    const left = 12 + 6.6 * Math.max(...texts.map((text) => text.length));
    const y = linear([ticks[0], ticks.at(-1)], [height - BOTTOM, TOP]);
    const span = [time[0], Math.max(time.at(-1), time[0] + 1)];
    const x = linear(span, [left, width - RIGHT]);
    place = { x, y, left, right: width - RIGHT };
    plot.setAttribute("width", width);
    plot.replaceChildren(
      ...ticks.flatMap((value, i) => [
        svg("line", { class: "grid", x1: left, x2: width - RIGHT, y1: y(value), y2: y(value) }),
        svg("text", { class: "axis", x: left - 6, y: y(value) + 4, "text-anchor": "end" }, texts[i]),
      ]),
      ...timeTicks(...span, (width - left) / 70).filter(({ time: t }) => x(t) > left + 12).map(({ time: t, text }) =>
        svg("text", { class: "axis", x: Math.min(x(t), width - 24), y: height - 5, "text-anchor": "middle" }, text)),
      ...(stacked ? areas(x, y) : lines(x, y)),
      ...alarmMarks(x, y, ticks),
    );
    point(chosen);
  }

  function valueTicks() {
    if (stacked) return [0, 0.25, 0.5, 0.75, 1];
    const range = extent(data.series.map((each) => each.values)) ?? [0, 1];
    if (from !== null) [range[0], range[1]] = [Math.min(range[0], from), Math.max(range[1], from)];
    return niceTicks(...range, height / 45).filter((value) => value >= bounds[0] - 1e-9 && value <= bounds[1] + 1e-9);
  }

  function lines(x, y) {
    const begins = stretches(data.time, data.every);
    return [...data.series].reverse().flatMap(({ values, look }) => {
      let path = "";
      const dots = [];
      values.forEach((value, i) => {
        if (value === null) return;
        const fresh = begins[i] || values[i - 1] === null;
        path += `${fresh ? "M" : "L"}${x(data.time[i]).toFixed(1)},${y(value).toFixed(1)}`;
        const alone = fresh && (i + 1 === values.length || begins[i + 1] || values[i + 1] === null);
        if (alone) dots.push(svg("circle", { class: `dot ${look}`, cx: x(data.time[i]), cy: y(value), r: 2.5 }));
      });
      return [svg("path", { class: `line ${look}`, d: path || "M0,0" }), ...dots];
    });
  }

  function areas(x, y) {
    const base = data.time.map(() => 0);
    const begins = stretches(data.time, data.every);
    const known = data.time.map((_, i) => data.series.some(({ values }) => values[i] !== null));
    const runs = []; // [from, to): points without a gap between them
    known.forEach((is, i) => {
      if (is && !begins[i] && known[i - 1]) runs.at(-1)[1] = i + 1;
      else if (is) runs.push([i, i + 1]);
    });
    return data.series.map(({ values, look }) => {
      const low = [...base];
      values.forEach((value, i) => (base[i] += value ?? 0));
      const at = (heights, i, shift = 0) => `${(x(data.time[i]) + shift).toFixed(1)},${y(Math.min(heights[i], 1)).toFixed(1)}`;
      const parts = runs.map(([start, stop]) => {
        const places = [...Array(stop - start).keys()].map((i) => start + i);
        const pad = places.length === 1 ? 1.5 : 0; // one point alone still has a width
        const upper = places.flatMap((i) => (pad ? [at(base, i, -pad), at(base, i, pad)] : [at(base, i)]));
        const lower = places.reverse().flatMap((i) => (pad ? [at(low, i, pad), at(low, i, -pad)] : [at(low, i)]));
        return `M${[...upper, ...lower].join("L")}Z`;
      });
      return svg("path", { class: `area ${look}`, d: parts.join("") });
    });
  }

  function alarmMarks(x, y, ticks) {
    return shownAlarms().flatMap((alarm) => {
      const here = x(alarm.time);
      return [
        svg("line", { class: "alarm-line", x1: here, x2: here, y1: TOP, y2: y(ticks[0]) }),
        svg("path", { class: "alarm-mark", d: `M${here - 5},${TOP - 11}h10l-5,9z` }, svg("title", {}, alarm.text)),
      ];
    });
  }

  function shownAlarms() {
    const { time, every } = data;
    return data.alarms.filter((alarm) => alarm.time >= time[0] - every && alarm.time <= time.at(-1) + every);
  }

  function alarmsAt(i) {
    const before = i > 0 ? data.time[i - 1] : -Infinity;
    const last = i + 1 === data.time.length;
    return shownAlarms().filter((alarm) => alarm.time > before && (alarm.time <= data.time[i] || last));
  }

  /** Show the values of point i, or none. */
  function point(i) {
    plot.querySelector(".cursor")?.remove();
    chosen = i === null || data.time.length === 0 ? null : Math.max(0, Math.min(i, data.time.length - 1));
    tip.hidden = chosen === null;
    const reading = chosen ?? data.time.length - 1;
    if (reading >= 0) {
      stage.setAttribute("aria-valuemax", data.time.length - 1);
      stage.setAttribute("aria-valuenow", reading);
      stage.setAttribute("aria-valuetext", spoken(reading));
    }
    if (chosen === null || !place) return;
    const here = place.x(data.time[chosen]);
    plot.append(svg("line", { class: "cursor", x1: here, x2: here, y1: TOP, y2: height - BOTTOM }));
    tip.replaceChildren(
      h("p", { class: "tip-head" }, at(data.time[chosen]), h("span", {}, ` · event ${count(data.events[chosen])}`)),
      ...data.series.map((each) => h("p", { class: "tip-row" }, h("i", { class: `swatch ${each.look}` }), name(each.name), h("b", {}, format(each.values[chosen])))),
      ...alarmsAt(chosen).map((alarm) => h("p", { class: "tip-alarm" }, alarm.text)),
    );
    const room = stage.clientWidth - tip.offsetWidth - 4;
    const side = here + 12 > room ? here - tip.offsetWidth - 12 : here + 12;
    tip.style.left = `${Math.max(4, Math.min(side, room))}px`;
  }

  function spoken(i) {
    const values = data.series.map((each) => `${each.name} ${format(each.values[i])}`);
    return [at(data.time[i]), `event ${count(data.events[i])}`, ...values, ...alarmsAt(i).map((alarm) => `alarm: ${alarm.text}`)].join(", ");
  }

  function fillTable() {
    if (!table.open) return;
    const head = h("tr", {}, h("th", { scope: "col" }, "Time"), h("th", { scope: "col", class: "n" }, "Event"),
      data.series.map((each) => h("th", { scope: "col", class: "n" }, name(each.name))), h("th", { scope: "col" }, "Alarm"));
    const rows = data.time.map((time, i) => h("tr", {}, h("th", { scope: "row" }, at(time)), h("td", { class: "n" }, count(data.events[i])),
      data.series.map((each) => h("td", { class: "n" }, format(each.values[i]))), h("td", {}, alarmsAt(i).map((alarm) => alarm.text).join(" "))));
    body.replaceChildren(h("table", {}, h("caption", { class: "visually-hidden" }, `${title}, the newest first`), h("thead", {}, head), h("tbody", {}, rows.reverse())));
  }

  stage.addEventListener("pointermove", (event) => {
    if (!place || data.time.length === 0) return;
    const target = event.clientX - stage.getBoundingClientRect().left;
    const distance = data.time.map((time) => Math.abs(place.x(time) - target));
    point(distance.indexOf(Math.min(...distance)));
  });
  stage.addEventListener("pointerleave", () => point(null));
  stage.addEventListener("blur", () => point(null));
  stage.addEventListener("keydown", (event) => {
    const last = data.time.length - 1;
    const now = chosen ?? last;
    const moves = { ArrowLeft: now - 1, ArrowDown: now - 1, ArrowRight: now + 1, ArrowUp: now + 1, PageUp: now - 10, PageDown: now + 10, Home: 0, End: last, Escape: null };
    if (event.altKey || event.ctrlKey || event.metaKey || !(event.key in moves) || last < 0) return;
    event.preventDefault();
    point(moves[event.key]);
  });
  table.addEventListener("toggle", fillTable);
  new ResizeObserver(draw).observe(stage);

  return {
    element,
    update(news) {
      if (chosen !== null) {
        const time = data.time[chosen]; // the point that is read stays the same one
        chosen = news.time.findIndex((each) => each >= time);
        if (chosen < 0) chosen = null;
      }
      data = news;
      legend.replaceChildren(...data.series.map((each) => h("li", {}, h("i", { class: `swatch ${each.look}` }), name(each.name), h("b", {}, format(each.values.at(-1) ?? null)))));
      draw();
      fillTable();
    },
  };
}
