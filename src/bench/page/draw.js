"use strict";
// The document around the charts, and what all charts have in common. Text goes in by textContent alone.

function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function add(parent, tag, className, text) {
  return parent.appendChild(element(tag, className, text));
}

// A canvas takes no style sheet: its colours are read from the page's, and again when the scheme changes.
const colours = new Map();
function colour(name) {
  if (!colours.has(name)) {
    colours.set(name, getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim());
  }
  return colours.get(name);
}

const kSeriesColours = 8;
function seriesColour(index) {
  return colour(`series-${(index % kSeriesColours) + 1}`);
}

const kFont = '12px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';
const measuring = document.createElement("canvas").getContext("2d");

function textWidth(text) {
  measuring.font = kFont;
  return measuring.measureText(text).width;
}

// No wider than `width`, with its middle left out: names often differ at their ends.
function fitted(text, width) {
  const all = Array.from(text.replace(/\s+/gu, " "));
  const shown = (kept) =>
    kept < all.length
      ? `${all.slice(0, Math.ceil(kept / 2)).join("")}…${all.slice(all.length - Math.floor(kept / 2)).join("")}`
      : all.join("");
  let kept = Math.min(all.length, 200);
  while (kept > 2 && textWidth(shown(kept)) > width) --kept;
  return shown(kept);
}

// The texts of an axis' ticks.
function tickTexts(unit) {
  return (_, ticks) => ticks.map((tick) => (tick === null ? "" : shownNumber(tick, unit)));
}

// Steps between ticks where only whole numbers exist.
const kWholeSteps = Array.from({ length: 9 }, (_, i) => [1, 2, 5].map((step) => step * 10 ** i)).flat();

function axis(options) {
  return {
    stroke: () => colour("quiet"),
    font: kFont,
    labelFont: kFont,
    labelSize: 20,
    grid: { stroke: () => colour("grid"), width: 1 },
    ticks: { stroke: () => colour("grid"), width: 1, size: 4 },
    ...options,
  };
}

// A scale around all of `least` to `greatest`, also where they are one.
function around(least, greatest) {
  if (least === greatest) return [least - 1, greatest + 1];
  return [least, greatest];
}

// In the plot's own pixels, with what the context had before put back.
function painting(plot, paint) {
  const context = plot.ctx;
  context.save();
  context.beginPath();
  context.rect(plot.bbox.left, plot.bbox.top, plot.bbox.width, plot.bbox.height);
  context.clip();
  context.scale(devicePixelRatio, devicePixelRatio);
  context.font = kFont;
  context.textBaseline = "middle";
  paint(context);
  context.restore();
}

// On a canvas whose context painting() has scaled.
function placeOn(plot, value, scale) {
  return plot.valToPos(value, scale, true) / devicePixelRatio;
}

// Charts in the order of the page; each is made anew when the scheme of colours changes.
class Charts {
  constructor() {
    this.all = [];
    this.observer = new ResizeObserver((entries) => entries.forEach((entry) => this.fit(entry.target)));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      colours.clear();
      this.all.forEach((one) => this.draw(one));
    });
  }

  // `make(width)` gives uPlot's options and data; `note`, below the heading, says what is drawn, and `key`, a list of
  // [look, name], what the colours mean.
  add(parent, { id, title, note, key = [], make }) {
    const figure = add(parent, "figure", "card chart");
    figure.id = id;
    const caption = add(figure, "figcaption");
    add(caption, "h2", "", title);
    if (note) add(caption, "p", "note", note);
    const names = key.length > 0 ? add(caption, "p", "key") : null;
    key.forEach(([look, name]) => add(names, "span", look, name));
    const place = add(figure, "div", "place");
    place.setAttribute("role", "img");
    place.setAttribute("aria-label", title);
    const one = { place, make, plot: null, width: 0 };
    this.all.push(one);
    this.draw(one);
    this.observer.observe(place);
  }

  draw(one) {
    if (one.plot) one.plot.destroy();
    one.width = Math.max(240, Math.floor(one.place.clientWidth));
    const { options, data } = one.make(one.width);
    one.plot = new uPlot({ width: one.width, ...options }, data, one.place);
  }

  fit(place) {
    const one = this.all.find((candidate) => candidate.place === place);
    if (Math.abs(Math.max(240, Math.floor(place.clientWidth)) - one.width) > 1) this.draw(one);
  }
}
