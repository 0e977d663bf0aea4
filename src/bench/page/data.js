"use strict";
// The report's numbers: found by path, whatever is missing; thinned out; counted. Knows nothing of the document.

// What `path` names, or undefined: objects on the way may be missing or null.
function at(object, path) {
  return path.split(".").reduce((there, key) => (there && typeof there === "object" ? there[key] : undefined), object);
}

function number(value) {
  return Number.isFinite(value) ? value : null;
}

function numberAt(object, path) {
  return number(at(object, path));
}

function listAt(object, path) {
  const list = at(object, path);
  return Array.isArray(list) ? list : [];
}

function textAt(object, path) {
  const value = at(object, path);
  return typeof value === "string" ? value : "";
}

// As many as there are values; null where one is no number.
function samplesAt(object, path) {
  return listAt(object, path).map(number);
}

function finite(values) {
  return values.filter((value) => value !== null);
}

// No spreading into Math.min: a million arguments overflow the stack.
function extent(values) {
  let least = Infinity;
  let greatest = -Infinity;
  for (const value of values) {
    if (value === null) continue;
    if (value < least) least = value;
    if (value > greatest) greatest = value;
  }
  return least <= greatest ? [least, greatest] : [0, 0];
}

// As the report's own percentiles: interpolated linearly. `sorted` is not empty.
function percentile(sorted, share) {
  const place = share * (sorted.length - 1);
  const below = Math.floor(place);
  const above = Math.min(below + 1, sorted.length - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (place - below);
}

const kMostPoints = 4000;

// Least and greatest of `values[from, to)` in the order in which they came; null, null where none is a number.
function extremes(values, from, to) {
  let least = -1;
  let greatest = -1;
  for (let i = from; i < Math.min(to, values.length); ++i) {
    if (values[i] === null) continue;
    if (least < 0 || values[i] < values[least]) least = i;
    if (greatest < 0 || values[i] > values[greatest]) greatest = i;
  }
  if (least < 0) return [null, null];
  return [values[Math.min(least, greatest)], values[Math.max(least, greatest)]];
}

function median(values, from, to) {
  const sorted = Float64Array.from(finite(values.slice(from, to))).sort();
  return sorted.length > 0 ? percentile(sorted, 0.5) : null;
}

// Lists of values over 1, 2, 3, ... as uPlot takes them. Beyond kMostPoints each run of `every` values is drawn as its
// least and its greatest, so that no peak is lost; then `medians` has a list for each, of the runs' medians.
function thinned(lists) {
  const longest = Math.max(...lists.map((list) => list.length));
  if (longest <= kMostPoints) {
    const x = Array.from({ length: longest }, (_, i) => i + 1);
    const padded = lists.map((list) => x.map((_, i) => (i < list.length ? list[i] : null)));
    return { data: [x, ...padded], medians: [], every: 1 };
  }
  const every = Math.ceil(longest / (kMostPoints / 2));
  const data = [[], ...lists.map(() => [])];
  const medians = lists.map(() => []);
  for (let from = 0; from < longest; from += every) {
    data[0].push(from + 1, from + 1 + every / 2);
    lists.forEach((list, i) => {
      data[i + 1].push(...extremes(list, from, from + every));
      medians[i].push(median(list, from, from + every), null);
    });
  }
  return { data, medians, every };
}

const kMostBins = 60;

// Bins of equal width for at least two sorted values. A few values far off would press all others into one bin: beyond
// `last` they are counted only.
function histogram(sorted) {
  const [least, greatest] = [sorted[0], sorted[sorted.length - 1]];
  const reach = percentile(sorted, 0.95) - least;
  const last = reach > 0 && greatest > least + 6 * reach ? least + 4 * reach : greatest;
  const spread = percentile(sorted, 0.75) - percentile(sorted, 0.25);
  const wanted = spread > 0 ? (2 * spread) / Math.cbrt(sorted.length) : 0;
  const range = last - least || Math.abs(least) * 0.01 || 1;
  const count = wanted > 0 ? Math.min(kMostBins, Math.max(8, Math.ceil(range / wanted))) : 8;
  const width = range / count;
  const counts = new Array(count).fill(0);
  let beyond = 0;
  for (const value of sorted) {
    if (value > last) ++beyond;
    else ++counts[Math.min(count - 1, Math.floor((value - least) / width))];
  }
  return { from: least, width, counts, beyond, last };
}

function shownNumber(value, unit = "") {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  const decimals = size >= 100 ? 1 : size >= 10 ? 2 : 3;
  const text = value.toLocaleString("en", { maximumFractionDigits: decimals });
  return unit ? `${text} ${unit}` : text;
}

function shownCount(value) {
  return value.toLocaleString("en");
}
