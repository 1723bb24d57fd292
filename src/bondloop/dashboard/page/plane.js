// A path in the plane: actual against desired motion with the 45° line, or the hysteresis of the specimen. The
// trail fades with age; axes are square and, for a subspace plot, of equal scale.
import { colour, digits, element, scaleFor } from "./format.js";

const KEPT = 700, AGES = 10, LEFT = 52, BELOW = 34, EDGE = 10;

export class Plane {
  constructor({ title, x, y, equal }) {
    Object.assign(this, { title, x, y, equal });
    this.canvas = element("canvas", { role: "img", "aria-label": title });
    this.words = element("p", { text: "\u00a0" });
    this.box = element("div", { class: "plane", "data-plane": title }, element("h2", { text: title }), this.words, this.canvas);
    this.points = [];
    this.other = [];
    this.reach = [0, 0];
  }

  take(block) {
    if (block.restart) this.points = [];
    for (let i = 0; i < block.rows; i++) this.points.push([block.columns[0][i], block.columns[1][i]]);
    if (this.points.length > KEPT) this.points.splice(0, this.points.length - KEPT);
  }

  draw() {
    const canvas = this.canvas, ratio = devicePixelRatio || 1;
    const width = canvas.clientWidth, height = canvas.clientHeight;
    if (!width) return;
    if (canvas.width !== Math.round(width * ratio)) { canvas.width = Math.round(width * ratio); canvas.height = Math.round(height * ratio); }
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    this.#fit();
    const [across, up] = this.reach, inner = { w: width - LEFT - EDGE, h: height - BELOW - EDGE };
    const px = (v) => LEFT + inner.w * (0.5 + 0.5 * (v / across)), py = (v) => EDGE + inner.h * (0.5 - 0.5 * (v / up));
    this.#axes(pen, px, py, width, height);
    pen.save();
    pen.beginPath(); pen.rect(LEFT, EDGE, inner.w, inner.h); pen.clip();
    if (this.equal) {
      pen.strokeStyle = colour("--soft"); pen.setLineDash([7, 4]); pen.lineWidth = 1.2;
      pen.beginPath(); pen.moveTo(px(-across), py(-across)); pen.lineTo(px(across), py(across)); pen.stroke(); pen.setLineDash([]);
    }
    this.#trail(pen, this.other, px, py, colour("--s1"), [5, 3]);
    this.#trail(pen, this.points, px, py, colour("--s0"), []);
    const last = this.points.at(-1);
    if (last && Number.isFinite(last[0] + last[1])) { pen.fillStyle = colour("--s1"); pen.beginPath(); pen.arc(px(last[0]), py(last[1]), 4, 0, 7); pen.fill(); }
    pen.restore();
    this.box.dataset.points = String(this.points.length);
  }

  #trail(pen, points, px, py, ink, dash) {
    pen.strokeStyle = ink; pen.lineWidth = 1.8; pen.setLineDash(dash);
    const part = Math.ceil(points.length / AGES);
    for (let age = 0; age < AGES && part; age++) {
      pen.globalAlpha = 0.12 + (0.88 * (age + 1)) / AGES;
      pen.beginPath();
      for (let i = Math.max(0, age * part - 1); i < Math.min(points.length, (age + 1) * part); i++) {
        const [x, y] = points[i];
        if (Number.isFinite(x + y)) i === Math.max(0, age * part - 1) ? pen.moveTo(px(x), py(y)) : pen.lineTo(px(x), py(y));
      }
      pen.stroke();
    }
    pen.globalAlpha = 1; pen.setLineDash([]);
  }

  // Grow at once, shrink slowly: axes that jump cannot be read.
  #fit() {
    const most = [0, 0];
    for (const set of [this.points, this.other]) for (const point of set) for (const k of [0, 1]) {
      const size = Math.abs(point[k]);
      if (size > most[k] && size < Infinity) most[k] = size;
    }
    if (this.equal) most[0] = most[1] = Math.max(...most);
    for (const k of [0, 1]) {
      const wanted = (1.12 * most[k]) || 1e-6;
      this.reach[k] = wanted > this.reach[k] || wanted < 0.4 * this.reach[k] ? wanted : this.reach[k];
    }
  }

  #axes(pen, px, py, width, height) {
    pen.strokeStyle = colour("--line"); pen.fillStyle = colour("--ink"); pen.lineWidth = 1; pen.font = "12px system-ui, DejaVu Sans, sans-serif";
    const [sx, sy] = [scaleFor(this.x.unit, this.reach[0]), scaleFor(this.y.unit, this.reach[1])];
    pen.textAlign = "center"; pen.textBaseline = "top";
    for (const v of ticks(this.reach[0])) { line(pen, px(v), EDGE, px(v), height - BELOW); pen.fillText(digits(v / sx.by), px(v), height - BELOW + 4); }
    pen.textAlign = "right"; pen.textBaseline = "middle";
    for (const v of ticks(this.reach[1])) { line(pen, LEFT, py(v), width - EDGE, py(v)); pen.fillText(digits(v / sy.by), LEFT - 5, py(v)); }
    pen.textAlign = "center"; pen.textBaseline = "alphabetic";
    pen.fillText(`${this.x.label}${sx.unit ? ` [${sx.unit}]` : ""}`, (LEFT + width) / 2, height - 4);
    pen.save(); pen.translate(11, (height - BELOW) / 2); pen.rotate(-Math.PI / 2);
    pen.fillText(`${this.y.label}${sy.unit ? ` [${sy.unit}]` : ""}`, 0, 0); pen.restore();
  }
}

function line(pen, x0, y0, x1, y1) { pen.beginPath(); pen.moveTo(x0, y0); pen.lineTo(x1, y1); pen.stroke(); }

function ticks(reach) {
  const size = 10 ** Math.floor(Math.log10(reach)), step = [0.2, 0.5, 1, 2].map((s) => s * size).find((s) => reach / s <= 2.9) ?? 5 * size;
  const found = [];
  for (let i = -Math.floor(reach / step); i <= Math.floor(reach / step); i++) found.push(i * step);
  return found;
}
