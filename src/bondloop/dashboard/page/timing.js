// The executive's histograms: wake-up latency and cycle time, with logarithmic counts, and the period as a line.
import { colour, element, withUnit } from "./format.js";

const SHOWN = [["wake", "wake-up latency", "--s0"], ["busy", "cycle time", "--s1"]];
const LEFT = 44, BELOW = 32, EDGE = 8;

export function showTiming(timing) {
  const canvas = document.getElementById("histogram"), ratio = devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
  if (!width) return;
  canvas.width = Math.round(width * ratio); canvas.height = Math.round(height * ratio);
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.font = "12px system-ui, DejaVu Sans, sans-serif";
  const from = Math.log10(1e-6), to = Math.log10(Math.max(20 * timing.period, 2e-2));
  const px = (seconds) => LEFT + ((width - LEFT - EDGE) * (Math.log10(seconds) - from)) / (to - from);
  const most = Math.max(1, ...SHOWN.flatMap(([name]) => timing[name]?.bins ?? [0])), top = Math.ceil(Math.log10(most) + 0.3);
  const py = (count) => EDGE + (height - EDGE - BELOW) * (1 - (count > 0 ? Math.log10(count) + 0.3 : 0) / (top + 0.3));
  grid(pen, px, py, width, height, from, to, top);
  for (const [name, , ink] of SHOWN) {
    const h = timing[name];
    if (!h) continue;
    pen.strokeStyle = pen.fillStyle = colour(ink); pen.lineWidth = 2;
    pen.beginPath(); pen.moveTo(px(h.first), py(0));
    h.bins.forEach((count, i) => { const a = px(h.first * h.ratio ** i), b = px(h.first * h.ratio ** (i + 1)); pen.lineTo(a, py(count)); pen.lineTo(b, py(count)); });
    pen.stroke();
  }
  pen.strokeStyle = colour("--bad"); pen.setLineDash([6, 4]); pen.lineWidth = 1.5;
  pen.beginPath(); pen.moveTo(px(timing.period), EDGE); pen.lineTo(px(timing.period), height - BELOW); pen.stroke(); pen.setLineDash([]);
  table(timing);
}

function grid(pen, px, py, width, height, from, to, top) {
  pen.strokeStyle = colour("--line"); pen.fillStyle = colour("--ink"); pen.lineWidth = 1; pen.textAlign = "center";
  for (let d = Math.ceil(from); d <= to; d++) {
    const x = px(10 ** d);
    pen.beginPath(); pen.moveTo(x, EDGE); pen.lineTo(x, height - BELOW); pen.stroke();
    pen.fillText(withUnit(10 ** d, "s"), x, height - BELOW + 14);
  }
  pen.textAlign = "right";
  for (let d = 0; d <= top; d += Math.ceil(top / 4) || 1) { pen.beginPath(); pen.moveTo(LEFT, py(10 ** d)); pen.lineTo(width - EDGE, py(10 ** d)); pen.stroke(); pen.fillText(d < 4 ? String(10 ** d) : `1e${d}`, LEFT - 5, py(10 ** d) + 4); }
  pen.textAlign = "center"; pen.fillText("duration; dashed: the period", (LEFT + width) / 2, height - 3);
  pen.save(); pen.translate(11, (height - BELOW) / 2); pen.rotate(-Math.PI / 2); pen.fillText("cycles", 0, 0); pen.restore();
}

function table(timing) {
  const head = ["", "50 %", "99 %", "99.9 %", "most"];
  const body = SHOWN.filter(([name]) => timing[name]).map(([name, words, ink]) => {
    const line = element("i", { "aria-hidden": "true" });
    line.style.cssText = ""; line.style.borderColor = colour(ink);
    const p = timing[name].percentiles;
    return element("tr", {}, element("th", { scope: "row" }, element("span", { class: "keys" }, element("span", {}, line, words))), ...["50", "99", "99.9", "most"].map((k) => element("td", { class: "number", text: withUnit(p[k], "s", 2) })));
  });
  document.getElementById("timing-percentiles").replaceChildren(element("table", {}, element("thead", {}, element("tr", {}, ...head.map((t, i) => element("th", { text: t, class: i ? "number" : "" })))), element("tbody", {}, ...body)));
}
