// The live view: plots that follow the loop, and what they are told of.
import { showBars, showEstimates } from "./bars.js";
import { always } from "./keep.js";
import { asked, makePlanes, makeStrips } from "./plots.js";
import { showTiming } from "./timing.js";

const place = (id) => document.getElementById(id);

export class Live {
  constructor(link) {
    this.link = link;
    this.strips = []; this.planes = []; this.drawn = 0; this.frame = 0; this.scheduled = false;
    link.on("loop", (loop) => this.#begin(loop));
    link.on("frame", (frame) => this.#take(frame));
    link.on("status", (status) => this.#status(status));
    link.on("timing", (timing) => showTiming(timing));
    addEventListener("resize", () => this.ask());
    place("window").value = always.get("window") ?? "10";
    place("window").addEventListener("change", () => { always.set("window", place("window").value); this.ask(); });
    // Of many actuators only those planes are asked for that are in view, or nearly.
    this.near = new IntersectionObserver((entries) => {
      for (const entry of entries) { const found = this.planes.find((p) => p.plane.box === entry.target); if (found) found.near = entry.isIntersecting; }
      this.ask();
    }, { rootMargin: "900px" });
  }

  get window() { return Number(place("window").value) || 10; }

  #begin(loop) {
    this.loop = loop;
    if (!loop.channels) return;
    this.strips = makeStrips(place("strips"), loop.channels, this.window, () => this.ask(), this.#kept(loop));
    this.planes = makePlanes(place("planes"), loop.channels, loop.pairs, loop.loops);
    this.near.disconnect();
    for (const { plane } of this.planes) this.near.observe(plane.box);
    this.ask();
  }

  // The choice of channels outlives a reload, test by test.
  #kept(loop) {
    try {
      const kept = JSON.parse(always.get(`strips ${loop.name}`)), at = new Map(loop.channels.map((c, i) => [c.name, i]));
      const sound = kept?.length === 4 && kept.every(([title, names]) => typeof title === "string" && names.every((n) => at.has(n)));
      return sound ? kept.map(([title, names]) => [title, names.map((n) => at.get(n))]) : null;
    } catch { return null; }
  }

  ask() {
    if (!this.loop?.channels) return;
    always.set(`strips ${this.loop.name}`, JSON.stringify(this.strips.map((s) => [s.title, s.chosen.map((i) => this.loop.channels[i].name)])));
    for (const strip of this.strips) strip.window = this.window;
    this.link.send({ plots: asked(this.strips, this.planes, this.window) });
  }

  #take({ number, blocks }) {
    for (const block of blocks) {
      if (block.plot >= 100) this.planes[block.plot - 100]?.plane.take(block);
      else if (this.strips[block.plot]?.series * 2 === block.columns.length) this.strips[block.plot].take(block);
    }
    this.frame = number;
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame(() => this.#draw());
  }

  #draw() {
    this.scheduled = false;
    if (!place("view-live").hidden) {
      for (const strip of this.strips) strip.draw();
      for (const { plane, near } of this.planes) if (near !== false) plane.draw();
      document.documentElement.dataset.draws = String(++this.drawn);
    }
    this.link.send({ got: this.frame });
  }

  #status({ loop }) {
    showBars(loop?.bars ?? []);
    showEstimates(loop?.estimates ?? [], this.planes);
  }

  recolour() { for (const strip of this.strips) strip.recolour(); if (this.loop?.channels) this.#draw(); }
}
