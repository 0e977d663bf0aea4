"use strict";
// Charts over numbers: lines over iterations or tokens, and the distribution of samples.

const kPlotHeight = 260;

function thinningNote(every, longest, what) {
  if (every === 1) return "";
  return `${shownCount(longest)} ${what}: drawn are the least, the greatest and the median of every ${shownCount(every)}.`;
}

// Names may be long, and are shown whole on hovering.
function legendName(name) {
  return name.length > 40 ? fitted(name, 240) : name;
}

// series: [{name, values}], values over 1, 2, 3, ...
function addLines(charts, parent, { id, title, xName, unit, series, note = "", what = "samples" }) {
  const drawn = series.filter((one) => finite(one.values).length > 0);
  if (drawn.length === 0) return;
  const longest = Math.max(...drawn.map((one) => one.values.length));
  const { data, medians, every } = thinned(drawn.map((one) => one.values));
  const sparse = longest <= 60;
  const width = drawn.length > 4 || every > 1 ? 1 : 1.5;
  // Behind its medians a thinned line is pale: close together, peaks look like a block.
  const lines = () => drawn.map((one, i) => ({ name: one.name, stroke: seriesColour(i) + (every > 1 ? "50" : ""), width }));
  const medianLines = () => medians.map((_, i) => ({ name: `${drawn[i].name}, median`, stroke: seriesColour(i), width: 2 }));
  const make = () => ({
    data: [...data, ...medians],
    options: {
      height: kPlotHeight,
      scales: { x: { time: false, range: (_, least, greatest) => around(least, greatest) } },
      axes: [
        axis({ label: xName, size: 36, incrs: kWholeSteps, values: tickTexts() }),
        axis({ size: 76, values: tickTexts(unit) }),
      ],
      series: [
        { label: xName, value: (_, x) => (x === null ? "–" : shownCount(Math.floor(x))) },
        ...[...lines(), ...medianLines()].map((line) => ({
          label: legendName(line.name),
          stroke: line.stroke,
          width: line.width,
          spanGaps: true,
          points: { show: sparse, size: 5, fill: line.stroke },
          value: (_, value) => shownNumber(value, unit),
        })),
      ],
    },
  });
  charts.add(parent, { id, title, note: [note, thinningNote(every, longest, what)].filter(Boolean).join(" "), make });
}

const kMarkLine = 14;

// Marks stand on lines of their own above the bars, so that close ones do not cover each other.
function paintMarks(plot, marks) {
  const top = plot.bbox.top / devicePixelRatio;
  const right = (plot.bbox.left + plot.bbox.width) / devicePixelRatio;
  painting(plot, (context) => {
    marks.forEach(({ name, value }, i) => {
      const x = placeOn(plot, value, "x");
      const y = top + kMarkLine * (i + 0.5) + 2;
      const room = x + textWidth(name) + 8 < right;
      context.strokeStyle = context.fillStyle = colour("mark");
      context.setLineDash([4, 3]);
      context.beginPath();
      context.moveTo(x, y - kMarkLine / 2);
      context.lineTo(x, (plot.bbox.top + plot.bbox.height) / devicePixelRatio);
      context.stroke();
      context.textAlign = room ? "left" : "right";
      context.fillText(name, room ? x + 4 : x - 4, y);
    });
  });
}

// marks: [{name, value}]
function addDistribution(charts, parent, { id, title, unit, samples, marks, note = "" }) {
  const sorted = Float64Array.from(finite(samples)).sort();
  if (sorted.length < 2) return;
  const { from, width, counts, beyond, last } = histogram(sorted);
  const there = marks.filter(({ value }) => value !== null && value >= from && value <= last);
  const x = counts.map((_, i) => from + (i + 0.5) * width);
  const most = extent(counts)[1];
  const beyondNote = beyond > 0
    ? `${shownCount(beyond)} beyond ${shownNumber(last, unit)}, up to ${shownNumber(sorted[sorted.length - 1], unit)}, not drawn.`
    : "";
  const binText = (i) => `${shownNumber(from + i * width)} – ${shownNumber(from + (i + 1) * width, unit)}`;
  const shownMarks = there.map(({ name, value }) => ({ name: `${name} ${shownNumber(value, unit)}`, value }));
  const make = () => ({
    // An empty bin is no bar of no height, which would have an outline.
    data: [x, counts.map((count) => count || null)],
    options: {
      height: kPlotHeight,
      cursor: { drag: { x: false, y: false }, points: { show: false } },
      scales: {
        x: { time: false, range: () => [from, from + counts.length * width] },
        // Room above the bars for the marks.
        y: { range: () => [0, most * (1 + (kMarkLine * (there.length + 0.5)) / (kPlotHeight - 110))] },
      },
      axes: [
        axis({ size: 36, space: 70, values: tickTexts(unit) }),
        axis({ size: 76, incrs: kWholeSteps, values: tickTexts() }),
      ],
      series: [
        { label: "from – to", value: (_, __, ___, i) => (i === null ? "–" : binText(i)) },
        {
          label: "samples",
          stroke: seriesColour(0),
          fill: colour("bar"),
          width: 1,
          points: { show: false },
          paths: uPlot.paths.bars({ size: [1, Infinity], align: 0 }),
          value: (_, __, ___, i) => (i === null ? "–" : shownCount(counts[i])),
        },
      ],
      hooks: { draw: [(plot) => paintMarks(plot, shownMarks)] },
    },
  });
  charts.add(parent, { id, title, note: [`${shownCount(sorted.length)} samples.`, note, beyondNote].filter(Boolean).join(" "), make });
}
