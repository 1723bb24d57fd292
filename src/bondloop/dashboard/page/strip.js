// A time history: channels over the last seconds, each as a band from the lowest to the highest value of a pixel.
import uPlot from "./vendor/uplot.js";
import { colour, digits, element, scaleFor } from "./format.js";

const MOST = 32; // channels, as the server grants them
const DASHES = [[], [7, 4], [2, 3], [9, 3, 2, 3]];

export class Strip {
  // channels: all there are; chosen: numbers of those to show; changed(): called when the choice changes.
  constructor({ title, channels, chosen, window, changed, compared = false }) {
    Object.assign(this, { title, channels, chosen, window, changed, compared });
    this.keys = element("ul", { class: "keys" });
    this.place = element("div", { class: "drawing" });
    this.picker = element("div", { class: "picker" });
    this.box = element("div", { class: "strip", "data-strip": title },
      element("details", {}, element("summary", { text: title }), this.picker), this.keys, this.place);
    this.#fillPicker();
    this.width = 0;
    new ResizeObserver(([entry]) => { this.width = Math.floor(entry.contentRect.width); }).observe(this.place);
    this.restart();
  }

  get pixels() { return Math.max(100, Math.min(2000, Math.floor(this.place.clientWidth * 0.9) || 500)); }
  get series() { return this.chosen.length * (this.compared ? 2 : 1); }

  restart() {
    this.size = 4 * 2200;
    this.filled = 0;
    this.x = new Float64Array(this.size);
    this.y = Array.from({ length: this.series }, () => new Float32Array(this.size));
  }

  // Take in a block of a frame: two columns a channel.
  take(block) {
    if (block.restart) this.filled = 0;
    const rows = 2 * block.rows;
    if (this.filled + rows > this.size) {
      const keep = Math.min(this.filled, this.size / 2 - rows);
      this.x.copyWithin(0, this.filled - keep, this.filled);
      for (const y of this.y) y.copyWithin(0, this.filled - keep, this.filled);
      this.filled = Math.max(0, keep);
    }
    for (let i = 0; i < block.rows; i++) {
      const at = this.filled + 2 * i;
      this.x[at] = this.x[at + 1] = block.first + i * block.step;
      for (let c = 0; c < this.y.length; c++) {
        this.y[c][at] = block.columns[2 * c][i];
        this.y[c][at + 1] = block.columns[2 * c + 1][i];
      }
    }
    this.filled += rows;
  }

  draw(until = null) {
    const last = until ?? (this.filled ? this.x[this.filled - 1] : 0);
    let begin = 0;
    const first = last - this.window;
    let low = 0, high = this.filled;
    while (low < high) { const middle = (low + high) >> 1; if (this.x[middle] < first) low = middle + 1; else high = middle; }
    begin = low;
    const x = this.x.subarray(begin, this.filled), ys = this.y.map((y) => y.subarray(begin, this.filled));
    if (!this.plot || this.plot.bondloopSeries !== this.series) this.#make();
    if (this.width && this.width !== this.plot.width) this.plot.setSize({ width: this.width, height: this.height });
    const { low: lowest, high: highest, whole } = extent(ys);
    this.scale = scaleFor(this.unit, Math.max(Math.abs(lowest), Math.abs(highest)));
    // Gaps must be null, which typed arrays cannot hold: only where there are any are they copied.
    const drawn = whole ? ys : ys.map((y) => Array.from(y, (v) => (Number.isFinite(v) ? v : null)));
    this.plot.batch(() => {
      this.plot.setData([x, ...drawn], false);
      this.plot.setScale("x", { min: first, max: last || 1e-9 });
      this.plot.setScale("y", { min: lowest, max: highest });
    });
    this.box.dataset.points = String(x.length);
  }

  get unit() {
    const units = new Set(this.chosen.map((i) => this.channels[i]?.unit ?? ""));
    return units.size === 1 ? [...units][0] : "";
  }
  get height() { return this.compared ? 210 : 175; }

  // Lines of one pixel: without a graphics processor wider ones take four times as long, and a live view draws all the time.
  // Colours and the set of channels are fixed when a plot is made: on a change of either it is made anew.
  #make() {
    this.plot?.destroy();
    const axis = { stroke: colour("--ink"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line"), width: 1 }, font: "12px system-ui, DejaVu Sans, sans-serif" };
    const named = this.chosen.map((i) => this.channels[i]);
    const label = this.unit || named.length === 0 ? quantity(named) : "several units";
    const series = [];
    for (let set = 0; set < (this.compared ? 2 : 1); set++)
      named.forEach((channel, i) => series.push({ label: channel.name, stroke: colour(`--s${i % 8}`), width: this.compared && !set ? 1.5 : 1, dash: set ? [6, 4] : DASHES[Math.floor(i / 8) % 4], points: { show: false }, spanGaps: false }));
    this.plot = new uPlot({
      width: this.place.clientWidth || 500, height: this.height, legend: { show: false }, cursor: { show: false }, pxAlign: false,
      scales: { x: { time: false, auto: false }, y: { auto: false } },
      axes: [
        { ...axis, label: "time [s]", labelSize: 16, size: 32, labelFont: axis.font },
        { ...axis, size: (_, ticks) => Math.max(40, 16 + 7.5 * Math.max(0, ...(ticks ?? []).map((t) => t.length))), labelSize: 18, space: 24, labelFont: axis.font,
          label: () => `${label}${this.scale?.unit ? ` [${this.scale.unit}]` : ""}`,
          values: (_, ticks) => ticks.map((v) => digits(v / (this.scale?.by ?? 1), 4)) },
      ],
      series: [{}, ...series],
    }, [[], ...series.map(() => [])], this.place);
    this.plot.bondloopSeries = this.series;
    this.keys.replaceChildren(...named.map((channel, i) => {
      const line = element("i", { "aria-hidden": "true", class: Math.floor(i / 8) % 4 ? "dashed" : "" });
      line.style.borderColor = colour(`--s${i % 8}`);
      return element("li", {}, line, channel.name);
    }));
    if (!named.length) this.keys.replaceChildren(element("li", { text: "no channel: open the title to choose some" }));
  }

  recolour() { this.plot?.destroy(); this.plot = null; }

  #fillPicker() {
    this.picker.replaceChildren(...this.channels.map((channel, i) => {
      const box = element("input", { type: "checkbox", onchange: () => this.#choose(i, box.checked) });
      box.checked = this.chosen.includes(i);
      return element("label", {}, box, ` ${channel.name}${channel.unit ? ` [${channel.unit}]` : ""}`);
    }));
  }

  #choose(number, wanted) {
    this.chosen = wanted ? [...this.chosen, number] : this.chosen.filter((i) => i !== number);
    const full = this.chosen.length >= MOST;
    for (const box of this.picker.querySelectorAll("input")) box.disabled = full && !box.checked;
    this.recolour();
    this.restart();
    this.changed();
  }
}

function quantity(channels) {
  // A command is a signal of the actuator's own kind: its role says more than what it measures.
  const names = [...new Set(channels.map((c) => (c.role === "command" ? c.role : c.quantity)).filter(Boolean))];
  return names.length === 1 ? names[0] : "value";
}

function extent(ys) {
  let low = Infinity, high = -Infinity, whole = true;
  for (const y of ys) {
    for (let i = 0; i < y.length; i++) {
      const v = y[i];
      if (v - v !== 0) whole = false; // NaN and infinities
      else { if (v < low) low = v; if (v > high) high = v; }
    }
  }
  if (low > high) return { low: -1, high: 1, whole };
  const room = 0.06 * (high - low) || Math.abs(high) * 0.1 || 1e-3;
  return { low: low - room, high: high + room, whole };
}
