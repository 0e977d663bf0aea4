"use strict";
// The page: what the report holds, put in order. What is not in a report has no chart; tables come from "shown", which
// is made of the table of fields.

const kPercentiles = ["p50", "p90", "p95", "p99"];
const kMostSeries = 12;

function embedded(id) {
  return JSON.parse(document.getElementById(id).textContent);
}

function isComparison(report) {
  return listAt(report, "targets").length > 0;
}

function label(shown, path) {
  return shown.labels[path] || path.slice(path.lastIndexOf(".") + 1).replaceAll("_", " ");
}

// ---- words and tables ----------------------------------------------------------------------------------------------

function addHead(page, shown, report) {
  const head = add(page, "header");
  add(head, "p", "kicker", isComparison(report) ? "precast perf · comparison" : "precast perf");
  const name = textAt(report, "benchmark_info.model_id");
  add(head, "h1", "", name || "Report");
  const words = shown.headlines.filter((one) => one.words && one.value !== name);
  if (words.length > 0) {
    const facts = add(head, "p", "facts");
    words.forEach((one) => {
      const fact = add(facts, "span");
      add(fact, "span", "quiet", `${one.label} `);
      add(fact, "span", "", one.value);
    });
  }
  const numbers = shown.headlines.filter((one) => !one.words);
  if (numbers.length > 0) {
    const tiles = add(page, "ul", "tiles");
    numbers.forEach((one) => {
      const tile = add(tiles, "li", "card");
      add(tile, "span", "quiet", one.label);
      const value = add(tile, "span", "value", one.value);
      if (one.unit) add(value, "span", "unit", ` ${one.unit}`);
    });
  }
}

// A word that is too long for a column is broken anywhere; others stay whole.
function cellClass(numeric, cell) {
  if (numeric) return "number";
  return cell.length > 60 ? "long" : "";
}

// A column whose every value is a number stands to the right.
function addTable(parent, [head, ...rows]) {
  const table = add(add(parent, "div", "scroll"), "table");
  const numeric = head.map((_, i) => rows.every((row) => row[i] === "-" || /^-?[\d.]+(e[+-]?\d+)?$/u.test(row[i])));
  const line = (section, tag, cells) => {
    const row = add(section, "tr");
    cells.forEach((cell, i) => add(row, tag, cellClass(numeric[i], cell), cell));
  };
  line(add(table, "thead"), "th", head);
  const body = add(table, "tbody");
  rows.forEach((row) => line(body, "td", row));
}

function addTables(page, shown) {
  shown.sections.forEach(({ heading, columns, lists }) => {
    const tables = columns.length > 0 ? [{ caption: "", rows: columns }, ...lists] : lists;
    if (tables.length === 0) return;
    const card = add(page, "section", "card");
    if (heading) add(card, "h2", "", heading);
    tables.forEach(({ caption, rows }) => {
      if (caption) add(card, "p", "caption", caption);
      addTable(card, rows);
    });
  });
}

function addFacts(page, shown) {
  const grid = element("div", "grid");
  shown.sections.forEach(({ heading, lines }) => {
    if (lines.length === 0) return;
    const card = add(grid, "section", "card");
    if (heading) add(card, "h2", "", heading);
    const list = add(card, "dl");
    lines.forEach(([name, value]) => {
      add(list, "dt", "", name);
      add(list, "dd", "", value);
    });
  });
  if (grid.childElementCount > 0) page.append(grid);
}

// ---- a model on ONNX Runtime ---------------------------------------------------------------------------------------

// The samples of several callers stand one after the other.
function seriesOfCallers(samples, callers) {
  if (callers.length === 0) return [{ name: "latency", values: samples }];
  let from = 0;
  return callers.map((caller) => {
    const values = samples.slice(from, from + (numberAt(caller, "n") || 0));
    from += values.length;
    return { name: `caller ${at(caller, "caller")}`, values };
  });
}

function addModelCharts(charts, page, shown, report) {
  const samples = samplesAt(report, "raw_samples_ms");
  addLines(charts, page, {
    id: "latency", title: "Latency over iterations", xName: "iteration", unit: "ms",
    series: seriesOfCallers(samples, listAt(report, "callers")),
  });
  addDistribution(charts, page, {
    id: "distribution", title: "Distribution of latencies", unit: "ms", samples,
    marks: kPercentiles.map((name) => ({ name, value: numberAt(report, `latency_ms.${name}`) })),
  });
  addLines(charts, page, {
    id: "warmup", title: "Warm-up", xName: "run", unit: "ms", series: [{ name: "latency", values: samplesAt(report, "warmup_samples_ms") }],
  });
  // "ready" is what others add up to.
  const phases = Object.entries(at(report, "phases_ms") || {}).filter(([key]) => key !== "ready");
  addBars(charts, page, {
    id: "phases", title: "Phases", unit: "ms", rowName: "phase", valueName: "time",
    bars: phases.map(([key, value]) => ({ name: label(shown, `phases_ms.${key}`), value: number(value) })),
  });
  addMedians(charts, page, {
    id: "callers", title: "Callers", rowName: "caller",
    all: listAt(report, "callers").map((caller) => ({ name: String(at(caller, "caller")), summary: caller })),
  });
  addBars(charts, page, {
    id: "operators", title: "Time by operator", unit: "ms", rowName: "operator", valueName: "time",
    bars: listAt(report, "op_tracing.by_type").map((one) => ({
      name: [textAt(one, "op_type"), textAt(one, "provider")].filter(Boolean).join(" · "), value: numberAt(one, "total_ms"),
    })),
  });
}

// ---- several targets -----------------------------------------------------------------------------------------------

// all: [{name, summary: {min, p50, p90, p99}}]
function addMedians(charts, page, { all, ...rest }) {
  addDots(charts, page, {
    ...rest, unit: "ms", columns: ["median", "min", "p90", "p99"],
    note: "Dot: median. Thick line: min to p90. Thin line: to p99.",
    dots: all.map(({ name, summary }) => {
      const [least, median, p90, p99] = ["min", "p50", "p90", "p99"].map((key) => numberAt(summary, key));
      return { name, dot: median, thick: [least, p90], thin: [least, p99], values: [median, least, p90, p99] };
    }),
  });
}

function addFailures(page, targets) {
  const failed = targets.filter((target) => at(target, "error"));
  if (failed.length === 0) return;
  const card = add(page, "section", "card failures");
  add(card, "h2", "", "Not measured");
  const list = add(card, "dl");
  failed.forEach((target) => {
    add(list, "dt", "", textAt(target, "target"));
    add(list, "dd", "", [textAt(target, "error.message"), textAt(target, "error.hint")].filter(Boolean).join(" – "));
  });
}

function addComparisonCharts(charts, page, report) {
  const targets = listAt(report, "targets");
  addFailures(page, targets);
  const measured = targets.filter((target) => target && typeof target === "object" && !at(target, "error"));
  addMedians(charts, page, {
    id: "medians", title: "Median latency by target", rowName: "target",
    all: measured.map((target) => ({ name: textAt(target, "target"), summary: at(target, "latency_ms") })),
  });
  addDots(charts, page, {
    id: "ratios", title: "Ratios of medians", rowName: "targets", unit: "", mark: 1, least: null,
    columns: ["ratio", "from", "to"], note: "Line: 95 % confidence interval. Below 1 the first one is faster.",
    dots: listAt(report, "ratios").map((one) => {
      const [ratio, low, high] = ["median_ratio", "ci95_low", "ci95_high"].map((key) => numberAt(one, key));
      return { name: `${textAt(one, "a")} : ${textAt(one, "b")}`, dot: ratio, thick: [null, null], thin: [low, high], values: [ratio, low, high] };
    }),
  });
  const series = measured.map((target) => ({ name: textAt(target, "target"), values: samplesAt(target, "raw_samples_ms") }));
  addLines(charts, page, {
    id: "latency", title: "Latency over iterations", xName: "iteration", unit: "ms", series: series.slice(0, kMostSeries),
    note: series.length > kMostSeries ? `The first ${kMostSeries} of ${series.length} targets.` : "",
  });
}

// ---- a bundle ------------------------------------------------------------------------------------------------------

const kBeforePrefill = ["template_duration_ms", "tokenization_duration_ms", "generator_create_duration_ms"];
const kAfterTokens = ["sequence_fetch_duration_ms", "detokenization_duration_ms"];

function requestName(request) {
  const index = numberAt(request, "index");
  return `${textAt(request, "kind") === "warmup" ? "warm-up" : "request"} ${index === null ? "" : index + 1}`.trim();
}

function lane(request) {
  const parts = [];
  let time = 0;
  const put = (durations, look) => durations.forEach((duration) => {
    if (duration) parts.push({ from: time, to: (time += duration), look });
  });
  const sum = (keys) => keys.reduce((total, key) => total + (numberAt(request, key) || 0), 0);
  const tokens = samplesAt(request, "decode_token_durations_ms");
  put([sum(kBeforePrefill)], "lane-around");
  put([numberAt(request, "prefill_duration_ms")], "lane-prefill");
  put([numberAt(request, "first_token_duration_ms")], "lane-first");
  tokens.forEach((token, i) => put([token], i % 2 === 0 ? "lane-token" : "lane-next-token"));
  put([sum(kAfterTokens)], "lane-around");
  const values = ["prefill_duration_ms", "first_token_duration_ms", "steady_state_tpot_ms"].map((key) => numberAt(request, key));
  return { name: requestName(request), parts, values: [...values, tokens.length, time] };
}

function addBundleCharts(charts, page, shown, report) {
  const requests = listAt(report, "requests");
  const timed = requests.filter((request) => textAt(request, "kind") === "timed");
  addLanes(charts, page, {
    id: "timeline", title: "Tokens of each request", rowName: "request", unit: "ms",
    columns: ["prefill", "first token", "mean later token", "later tokens", "in all"], valueUnits: ["ms", "ms", "ms", "", "ms"],
    key: [["lane-around", "before and after the model"], ["lane-prefill", "prefill"], ["lane-first", "first token"], ["lane-token", "each later token"]],
    lanes: requests.map(lane),
  });
  const tokens = timed.map((request) => samplesAt(request, "decode_token_durations_ms"));
  addLines(charts, page, {
    id: "tokens", title: "Latency of each later token", xName: "later token", unit: "ms", what: "tokens",
    series: tokens.slice(0, kMostSeries).map((values, i) => ({ name: requestName(timed[i]), values })),
    note: tokens.length > kMostSeries ? `The first ${kMostSeries} of ${shownCount(tokens.length)} requests.` : "",
  });
  const all = finite(tokens.flat());
  const sorted = Float64Array.from(all).sort();
  addDistribution(charts, page, {
    id: "distribution", title: "Distribution of later tokens", unit: "ms", samples: all, note: "Of all timed requests.",
    marks: sorted.length === 0 ? [] : kPercentiles.map((name) => ({ name, value: percentile(sorted, Number(name.slice(1)) / 100) })),
  });
  addLines(charts, page, {
    id: "latency", title: "Latency over requests", xName: "request", unit: "ms",
    series: ["request_duration_ms", "model_ttft_duration_ms"].map((key) => ({
      name: label(shown, `aggregate.${key}.mean`), values: timed.map((request) => numberAt(request, key)),
    })),
  });
  // The whole is in the tables; an estimate is no part of it.
  const parts = Object.entries(at(report, "load") || {}).filter(
    ([key]) => key.endsWith("_duration_ms") && key !== "session_load_duration_ms" && !key.includes("estimate"),
  );
  addBars(charts, page, {
    id: "phases", title: "Load", unit: "ms", rowName: "phase", valueName: "time",
    bars: parts.map(([key, value]) => ({ name: label(shown, `load.${key}`), value: number(value) })),
  });
}

// --------------------------------------------------------------------------------------------------------------------

function build() {
  const shown = embedded("shown");
  const report = embedded("report");
  const page = document.getElementById("page");
  page.replaceChildren();
  const charts = new Charts();
  addHead(page, shown, report);
  addTables(page, shown);
  // Where charts are drawn they have their width only when they stand in the page.
  const drawings = add(page, "div", "charts");
  if (isComparison(report)) addComparisonCharts(charts, drawings, report);
  else if (at(report, "benchmark_info.runtime") === "genai") addBundleCharts(charts, drawings, shown, report);
  else addModelCharts(charts, drawings, shown, report);
  addFacts(page, shown);
  if (charts.all.length > 0) {
    add(page, "footer", "quiet", "Point at a chart to read its values. Drag over a line to zoom in, double-click to see all of it. Click a name below a chart to hide or show its line.");
  }
}

build();
