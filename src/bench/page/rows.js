"use strict";
// Charts of things with names: one row for each, from the top, with its name on the left. uPlot gives the axes, the
// cursor and the values below; what stands in a row is painted here.

const kRowHeight = 28;
const kMostRows = 40;

// rows: [{name, values, paint(context, x, y, height)}]; columns: the names of `values`, shown for the row under the
// cursor. x turns a value into a place.
function addRows(charts, parent, { id, title, unit, rowName, columns, rows, note = "", key = [], least = 0, mark = null, valueUnits = [] }) {
  if (rows.length === 0) return;
  const drawn = rows.slice(0, kMostRows);
  const left = rows.length > drawn.length ? `The first ${kMostRows} of ${shownCount(rows.length)} are drawn.` : "";
  const all = drawn.flatMap((row) => row.reach);
  const [low, high] = extent(mark === null ? all : [...all, mark]);
  const from = Math.min(least === null ? low - (high - low) * 0.1 : least, low);
  const to = high > from ? high + (high - from) * 0.02 : from + 1;
  const make = (width) => {
    const nameWidth = Math.min(Math.max(...drawn.map((row) => textWidth(fitted(row.name, width * 0.35)))), width * 0.35);
    return {
      data: [drawn.map((_, i) => i), ...columns.map((_, column) => drawn.map((row) => row.values[column]))],
      options: {
        height: drawn.length * kRowHeight + 44,
        cursor: { drag: { x: false, y: false }, points: { show: false } },
        // Room for the last tick's text.
        padding: [8, 24, 0, 0],
        scales: {
          x: { time: false, ori: 1, dir: -1, range: () => [-0.5, drawn.length - 0.5] },
          y: { ori: 0, dir: 1, range: () => [from, to] },
        },
        axes: [
          axis({
            scale: "x",
            side: 3,
            size: nameWidth + 16,
            gap: 6,
            grid: { show: false },
            ticks: { show: false },
            splits: () => drawn.map((_, i) => i),
            values: (_, ticks) => ticks.map((i) => fitted(drawn[i].name, width * 0.35)),
          }),
          axis({ scale: "y", side: 2, size: 32, space: 80, values: tickTexts(unit) }),
        ],
        series: [
          { label: rowName, value: (_, i) => (i === null ? "–" : legendName(drawn[i].name)) },
          ...columns.map((column, i) => ({
            label: column,
            scale: "y",
            stroke: "transparent",
            width: 0,
            paths: () => null,
            points: { show: false },
            value: (_, value) => shownNumber(value, valueUnits[i] === undefined ? unit : valueUnits[i]),
          })),
        ],
        hooks: { draw: [(plot) => paintRows(plot, drawn, mark)] },
      },
    };
  };
  charts.add(parent, { id, title, note: [note, left].filter(Boolean).join(" "), key, make });
}

function paintRows(plot, rows, mark) {
  const x = (value) => placeOn(plot, value, "y");
  painting(plot, (context) => {
    if (mark !== null) {
      context.strokeStyle = colour("mark");
      context.setLineDash([4, 3]);
      context.beginPath();
      context.moveTo(x(mark), plot.bbox.top / devicePixelRatio);
      context.lineTo(x(mark), (plot.bbox.top + plot.bbox.height) / devicePixelRatio);
      context.stroke();
      context.setLineDash([]);
    }
    const right = (plot.bbox.left + plot.bbox.width) / devicePixelRatio;
    rows.forEach((row, i) => row.paint(context, x, placeOn(plot, i, "x"), kRowHeight * 0.55, right));
  });
}

// A text beside what is painted; within it where there is no room.
function paintValue(context, text, at, y, right) {
  const room = at + 6 + textWidth(text) < right;
  context.fillStyle = room ? colour("text") : colour("on-bar");
  context.textAlign = room ? "left" : "right";
  context.fillText(text, room ? at + 6 : at - 6, y);
}

// bars: [{name, value}]
function addBars(charts, parent, { bars, unit, valueName, ...rest }) {
  const rows = bars.filter((bar) => bar.value !== null).map(({ name, value }) => ({
    name,
    values: [value],
    reach: [value],
    paint: (context, x, y, height, right) => {
      context.fillStyle = seriesColour(0);
      // A thing that took time is seen, however little it was.
      context.fillRect(x(0), y - height / 2, Math.max(x(value) - x(0), value > 0 ? 1 : 0), height);
      paintValue(context, shownNumber(value, unit), x(value), y, right);
    },
  }));
  addRows(charts, parent, { ...rest, unit, columns: [valueName], rows });
}

// dots: [{name, dot, thin: [from, to], thick: [from, to], values}]; a line one of whose ends is null is left out.
function addDots(charts, parent, { dots, ...rest }) {
  const rows = dots.filter(({ dot }) => dot !== null).map(({ name, dot, thin, thick, values }, i) => ({
    name,
    values,
    reach: finite([dot, ...thin, ...thick]),
    paint: (context, x, y, height) => {
      context.strokeStyle = context.fillStyle = seriesColour(i);
      const line = ([from, to], width) => {
        if (from === null || to === null) return;
        context.lineWidth = width;
        context.beginPath();
        context.moveTo(x(from), y);
        context.lineTo(x(to), y);
        context.stroke();
      };
      line(thin, 2);
      line(thick, height * 0.5);
      context.beginPath();
      context.arc(x(dot), y, height * 0.4, 0, 2 * Math.PI);
      context.fill();
      context.lineWidth = 2;
      context.strokeStyle = colour("card");
      context.stroke();
    },
  }));
  addRows(charts, parent, { ...rest, rows });
}

// lanes: [{name, parts: [{from, to, look}], values}]; look: the name of a colour in the style sheet
function addLanes(charts, parent, { lanes, ...rest }) {
  const rows = lanes.filter(({ parts }) => parts.length > 0).map(({ name, parts, values }) => ({
    name,
    values,
    reach: [parts[parts.length - 1].to],
    paint: (context, x, y, height) => {
      let drawnTo = -Infinity;
      for (const { from, to, look } of parts) {
        const [begin, end] = [x(from), x(to)];
        // Thousands of tokens share a pixel: one of them is enough.
        if (end - drawnTo < 0.5) continue;
        context.fillStyle = colour(look);
        // The gap tells neighbours apart, where there is room for it.
        context.fillRect(begin, y - height / 2, Math.max(end - begin - (end - begin > 3 ? 1 : 0), 0.5), height);
        drawnTo = end;
      }
    },
  }));
  addRows(charts, parent, { ...rest, rows });
}
