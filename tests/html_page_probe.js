// Runs in a copy of a page, before the page's own script and knowing nothing of it: notes what goes wrong, then looks at
// the pixels of every chart and moves the mouse over it. The answer is JSON in the attribute data-probe of <html>.
"use strict";
(() => {
  const wrong = [];
  addEventListener("error", (event) => wrong.push(`error: ${event.message}`));
  addEventListener("unhandledrejection", (event) => wrong.push(`rejection: ${event.reason}`));
  addEventListener("securitypolicyviolation", (event) => wrong.push(`policy: ${event.violatedDirective} ${event.blockedURI}`));

  // Of what is drawn: coloured are the chart's own marks (axes, grid and text are grey), and there are none outside them.
  function pixels(canvas) {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const seen = { any: 0, coloured: 0 };
    for (let i = 0; i < data.length; i += 4) {
      if (data[i + 3] === 0) continue;
      ++seen.any;
      if (Math.max(data[i], data[i + 1], data[i + 2]) - Math.min(data[i], data[i + 1], data[i + 2]) > 40) ++seen.coloured;
    }
    return seen;
  }

  const pause = (ms) => new Promise((done) => setTimeout(done, ms));

  async function readAt(figure, across, down) {
    const over = figure.querySelector(".u-over");
    const place = over.getBoundingClientRect();
    const where = { clientX: place.left + place.width * across, clientY: place.top + place.height * down, bubbles: true };
    over.dispatchEvent(new MouseEvent("mouseenter", where));
    over.dispatchEvent(new MouseEvent("mousemove", where));
    await pause(50);
    return figure.querySelector(".u-legend").textContent;
  }

  async function look() {
    const charts = {};
    for (const figure of document.querySelectorAll("figure")) {
      const canvases = figure.querySelectorAll("canvas");
      const before = figure.querySelector(".u-legend")?.textContent;
      charts[figure.id] = {
        canvases: canvases.length,
        share: canvases.length > 0 ? canvases[0].getBoundingClientRect().width / figure.clientWidth : 0,
        ...(canvases.length > 0 ? pixels(canvases[0]) : {}),
        before,
        first: await readAt(figure, 0, 0.02),
        middle: await readAt(figure, 0.3, 0.5),
        note: figure.querySelector(".note")?.textContent ?? "",
      };
    }
    return {
      charts,
      wrong,
      title: document.title,
      heading: document.querySelector("h1")?.textContent,
      tables: document.querySelectorAll("table").length,
      facts: document.querySelectorAll("dt").length,
      images: document.images.length,
      scripts: document.scripts.length,
      loaded: performance.getEntriesByType("resource").map((entry) => entry.name),
      overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
      report: JSON.parse(document.getElementById("report").textContent),
    };
  }

  addEventListener("load", async () => {
    await pause(100);
    let answer;
    try {
      answer = await look();
    } catch (error) {
      answer = { wrong: [...wrong, `probe: ${error.stack}`] };
    }
    // What is looked at elsewhere, and long.
    if (answer.report?.raw_samples_ms?.length > 2000) answer.report = null;
    document.documentElement.setAttribute("data-probe", JSON.stringify(answer));
  });
})();
