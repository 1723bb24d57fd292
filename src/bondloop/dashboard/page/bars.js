// Limit bars with how near each has been, and the estimates of how well the rig follows.
import { element, ofLimit, percent, withUnit } from "./format.js";

const rows = new Map();

export function showBars(bars) {
  const place = document.getElementById("bars");
  if (place.dataset.titles !== bars.map((b) => b.title).join()) {
    rows.clear();
    for (const bar of bars) rows.set(bar.title, makeBar(bar.title));
    place.replaceChildren(...[...rows.values()].map((r) => r.box));
    place.dataset.titles = bars.map((b) => b.title).join();
  }
  for (const bar of bars) fillBar(rows.get(bar.title), bar);
}

function makeBar(title) {
  const fill = element("div", { class: "fill" }), mark = element("div", { class: "mark" }), figures = element("span", { class: "figures" });
  const track = element("div", { class: "track", role: "meter", "aria-label": title, "aria-valuemin": "0", "aria-valuemax": "100" }, fill, mark);
  return { box: element("div", { class: "bar", "data-bar": title }, element("span", { text: title }), track, figures), fill, mark, figures, track };
}

function fillBar(row, bar) {
  const whole = bar.limit ?? Math.max(bar.most, 1e-300) * 1.25, share = (v) => Math.min(100, (100 * v) / whole);
  row.fill.style.width = `${share(bar.now ?? 0)}%`;
  row.mark.style.left = `calc(${share(bar.most)}% - 3px)`;
  row.fill.className = `fill${bar.limit && bar.now > bar.limit ? " past" : bar.limit && bar.now > 0.8 * bar.limit ? " near" : ""}`;
  row.figures.textContent = ofLimit(bar);
  row.track.setAttribute("aria-valuenow", String(Math.round(share(bar.now ?? 0))));
  row.track.setAttribute("aria-valuetext", row.figures.textContent);
}

export function showEstimates(estimates, planes) {
  const place = document.getElementById("estimates"), key = JSON.stringify(estimates);
  if (place.dataset.key === key) return;
  place.dataset.key = key;
  const cells = estimates.map((e) => [String(e.interface + 1), percent(e.error), percent(e.amplitude), withUnit(e.delay, "s")]);
  const head = ["no.", "rms error", "amplitude", "delay"];
  place.replaceChildren(element("table", {}, element("thead", {}, element("tr", {}, ...head.map((t, i) => element("th", { text: t, scope: "col", class: i ? "number" : "" })))),
    element("tbody", {}, ...cells.map((row) => element("tr", {}, ...row.map((t, i) => element("td", { text: t, class: i ? "number" : "" })))))));
  for (const { plane, interface: number } of planes) {
    const e = estimates.find((x) => x.interface === number);
    if (number === null) continue;
    plane.words.textContent = e ? `rms error ${percent(e.error)}, delay ${withUnit(e.delay, "s")}` : "\u00a0"; // nothing of another run
    plane.canvas.setAttribute("aria-label", e ? `${plane.title}: ${plane.words.textContent}` : plane.title);
  }
}
