// Small pictures inside tables, and the calibration chart.

import { h, svg } from "./dom.js";
import { count, percent } from "./format.js";
import { extent, linear } from "./scales.js";

/** How a value went, with its zero line. */
export function sparkline(values, { width = 96, height = 20 } = {}) {
  const range = extent([values]);
  const picture = svg("svg", { class: "spark", width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" });
  if (!range) return picture;
  const y = linear([Math.min(range[0], 0), Math.max(range[1], 0) || 1], [height - 2, 2]);
  const x = linear([0, Math.max(values.length - 1, 1)], [1, width - 3]);
  let path = "";
  let last = null;
  values.forEach((value, i) => {
    if (value === null) return;
    path += `${values[i - 1] === null || path === "" ? "M" : "L"}${x(i).toFixed(1)},${y(value).toFixed(1)}`;
    last = i;
  });
  picture.append(
    svg("line", { class: "grid", x1: 0, x2: width, y1: y(0), y2: y(0) }),
    svg("path", { class: "line s-model", d: path }),
    svg("circle", { class: "dot s-model", cx: x(last), cy: y(values[last]), r: 2 }),
  );
  return picture;
}

/** A bar to the right for positive and to the left for negative values; `most` is the largest size. */
export function signedBar(value, most) {
  const half = most > 0 ? (50 * Math.abs(value)) / most : 0;
  return svg("svg", { class: "bar-mark", viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("rect", { class: value < 0 ? "negative" : "positive", x: value < 0 ? 50 - half : 50, y: 1, width: Math.max(half, 0.5), height: 8 }),
    svg("line", { class: "zero", x1: 50, x2: 50, y1: 0, y2: 10 }));
}

/** A bar for a share between 0 and 1. */
export function shareBar(share, look = "positive") {
  return svg("svg", { class: "bar-mark", viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("rect", { class: "track", x: 0, y: 1, width: 100, height: 8 }),
    svg("rect", { class: look, x: 0, y: 1, width: 100 * Math.max(0, Math.min(share, 1)), height: 8 }));
}

/** Observed against predicted: on the diagonal, probabilities are what they say. */
export function calibrationPicture(bins, size = 260) {
  const left = 38;
  const x = linear([0, 1], [left, size - 8]);
  const y = linear([0, 1], [size - 34, 8]);
  const heaviest = Math.max(...bins.map((bin) => bin.weight));
  const ticks = [0, 0.5, 1];
  return svg("svg", { class: "plot calibration", viewBox: `0 0 ${size} ${size}`, role: "img", "aria-label": calibrationText(bins) },
    ticks.map((tick) => svg("line", { class: "grid", x1: x(0), x2: x(1), y1: y(tick), y2: y(tick) })),
    ticks.map((tick) => svg("text", { class: "axis", x: left - 6, y: y(tick) + 4, "text-anchor": "end" }, percent(tick, 0))),
    ticks.map((tick) => svg("text", { class: "axis", x: x(tick), y: size - 20, "text-anchor": tick === 1 ? "end" : "middle" }, percent(tick, 0))),
    svg("text", { class: "axis", x: x(0.5), y: size - 4, "text-anchor": "middle" }, "predicted"),
    svg("line", { class: "line s-base0", x1: x(0), y1: y(0), x2: x(1), y2: y(1) }),
    svg("path", { class: "line s-model thin", d: bins.map((bin, i) => `${i ? "L" : "M"}${x(bin.predicted)},${y(bin.observed)}`).join("") }),
    bins.map((bin) => svg("circle", { class: "dot s-model", cx: x(bin.predicted), cy: y(bin.observed), r: 2 + 4 * Math.sqrt(bin.weight / heaviest) })));
}

/** The mean distance from the diagonal, in words. */
export function calibrationText(bins) {
  const total = bins.reduce((sum, bin) => sum + bin.weight, 0);
  const error = bins.reduce((sum, bin) => sum + bin.weight * Math.abs(bin.observed - bin.predicted), 0) / total;
  return `On average, observed frequencies differ from predicted probabilities by ${percent(error)}.`;
}

export function calibrationTable(bins) {
  return h("table", {}, h("caption", { class: "visually-hidden" }, "Calibration by bin of the predicted probability"),
    h("thead", {}, h("tr", {}, ["Bin", "Predicted", "Observed", "Weight"].map((title) => h("th", { scope: "col", class: "n" }, title)))),
    h("tbody", {}, bins.map((bin) => h("tr", {}, h("th", { scope: "row", class: "n" }, `${percent(bin.from, 0)} to ${percent(bin.to, 0)}`),
      h("td", { class: "n" }, percent(bin.predicted)), h("td", { class: "n" }, percent(bin.observed)), h("td", { class: "n" }, count(bin.weight))))));
}
