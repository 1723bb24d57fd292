// Recorded runs: scrub through one at any speed, beside another, and jump to what happened.
import { decode } from "./frames.js";
import { element } from "./format.js";
import { makePlanes, makeStrips } from "./plots.js";
import { onGrid, widen } from "./twin.js";

const place = (id) => document.getElementById(id);

export class Replay {
  constructor() {
    this.now = 0; this.playing = false; this.strips = []; this.planes = [];
    place("run-a").addEventListener("change", () => this.#open());
    place("run-b").addEventListener("change", () => this.#open());
    place("runs-again").addEventListener("click", () => this.#list());
    place("play").addEventListener("click", () => this.#play(!this.playing));
    place("scrub").addEventListener("input", () => { this.#to(Number(place("scrub").value)); });
    place("replay-window").addEventListener("change", () => this.#ask());
    addEventListener("resize", () => this.#ask());
  }

  // List the runs; open the one that the command line named. Returns whether there is one.
  async start() {
    const named = await this.#list();
    if (!named) return false;
    place("run-a").value = named;
    await this.#open();
    return true;
  }

  async shown() { await this.#list(); this.#ask(); }

  async #list() {
    const answer = await fetch("api/runs").catch(() => null);
    if (!answer?.ok) { place("run-about").textContent = "The server does not answer; look again later."; return ""; }
    const { runs, named } = await answer.json();
    for (const id of ["run-a", "run-b"]) {
      const select = place(id), kept = select.value;
      select.replaceChildren(element("option", { value: "", text: id === "run-a" ? "choose a run" : "nothing" }), ...runs.map((r) => element("option", { value: r.name, text: r.name })));
      select.value = runs.some((r) => r.name === kept) ? kept : "";
    }
    return named;
  }

  async #open() {
    this.#play(false);
    place("run-about").textContent = place("run-a").value ? "Reading…" : "";
    const asked = this.opening = {}, found = await Promise.all([about(place("run-a").value), about(place("run-b").value)]);
    if (this.opening !== asked) return; // another was chosen meanwhile
    const same = this.looked === found[0]?.name; // only what it is compared with was chosen: stay where one looks
    [this.a, this.b] = found;
    if (!this.a) { this.looked = null; return; }
    if (this.a.error || this.b?.error) { this.#blank(this.a.error ?? this.b.error); return; }
    const { channels, pairs, loops } = this.a;
    this.twins = this.b && Object.fromEntries(this.b.channels.map((c, i) => [c.name, i]));
    this.strips = makeStrips(place("replay-strips"), channels, 10, () => this.#ask(), null, Boolean(this.b));
    this.planes = makePlanes(place("replay-planes"), channels, pairs, loops);
    const scrub = place("scrub"), end = Math.max(this.a.seconds, this.b?.seconds ?? 0);
    scrub.min = String(this.a.first); scrub.max = String(end);
    place("run-about").textContent = `${this.a.samples.toLocaleString("en-GB")} samples, ${this.a.seconds.toFixed(2)} s, ${this.a.emulated ? "rehearsal on an emulated rig" : "on the rig"}, ${this.a.status}${this.a.message ? `: ${this.a.message}` : ""}${this.b ? this.#beside() : ""}`;
    place("run-events").replaceChildren(...this.a.events.map((e) => element("li", { "data-kind": e.kind }, element("button", { text: `${e.time.toFixed(2)} s  ${e.text}`, onclick: () => this.#to(e.time + 0.2 * this.window) }))));
    this.#to(same ? this.now : this.a.seconds);
    this.looked = this.a.name;
  }

  #beside() {
    const known = this.strips.some((s) => s.chosen.some((i) => this.twins[this.a.channels[i].name] !== undefined));
    return known ? `; dashed: ${this.b.name}` : `; nothing of ${this.b.name} is drawn: it has no channel of these names`;
  }

  // Nothing of another run stays below the name of one that cannot be shown.
  #blank(words) {
    this.a = this.b = this.looked = null; this.strips = []; this.planes = [];
    for (const id of ["replay-strips", "replay-planes", "run-events"]) place(id).replaceChildren();
    place("replay-time").textContent = "–";
    place("run-about").textContent = words;
  }

  get window() { const w = Number(place("replay-window").value); return w || Math.max(this.a ? this.a.seconds - this.a.first : 1, 0.01); }

  #to(time) {
    this.now = Math.min(Math.max(time, Number(place("scrub").min)), Number(place("scrub").max));
    place("scrub").value = String(this.now);
    place("replay-time").textContent = `${this.now.toFixed(3)} s`;
    this.#ask();
  }

  #play(on) {
    this.playing = on && Boolean(this.a);
    place("play").textContent = this.playing ? "Pause" : "Play";
    if (!this.playing) return;
    if (this.now >= Number(place("scrub").max)) this.now = Number(place("scrub").min);
    let last = performance.now();
    const step = (at) => {
      if (!this.playing) return;
      const next = this.now + (Number(place("speed").value) * (at - last)) / 1000;
      last = at;
      this.#to(next);
      if (next >= Number(place("scrub").max)) this.#play(false);
      else requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  }

  // One question at a time; what was asked for meanwhile is asked for then, and only the newest of it.
  async #ask() {
    if (!this.a || this.a.error || place("view-replay").hidden) return;
    if (this.asking) { this.again = true; return; }
    this.asking = true;
    try { do { this.again = false; await this.#draw(this.now, this.window); } while (this.again); }
    catch (error) { if (!this.a) return; this.#play(false); place("run-about").textContent = `The run cannot be read: ${error.message}`; }
    finally { this.asking = false; }
  }

  async #draw(until, window) {
    const from = until - window;
    await Promise.all(this.strips.map(async (strip) => {
      strip.window = window;
      if (!strip.chosen.length) { strip.restart(); strip.draw(until); return; }
      const block = await stretch(this.a, "strip", strip.chosen, from, until, strip.pixels);
      if (this.b) await this.#addTwin(strip, block, from, until);
      strip.restart();
      strip.take(block);
      strip.draw(until);
    }));
    await Promise.all(this.planes.map(async ({ plane, channels }) => {
      plane.take(await stretch(this.a, "plane", channels, Math.max(from, until - 3), until, 700));
      const twins = this.b && channels.map((i) => this.twins[this.a.channels[i].name]);
      if (twins?.every((i) => i !== undefined)) {
        const other = await stretch(this.b, "plane", twins, Math.max(from, until - 3), until, 700);
        plane.other = Array.from({ length: other.rows }, (_, i) => [other.columns[0][i], other.columns[1][i]]);
      }
      plane.draw();
    }));
    document.documentElement.dataset.replayed = until.toFixed(3);
  }

  // The other run's channels of the same names, added on this run's grid of pixels; no peak of it is lost.
  async #addTwin(strip, block, from, until) {
    const numbers = strip.chosen.map((i) => this.twins[this.a.channels[i].name]), known = numbers.filter((i) => i !== undefined);
    const other = known.length ? await stretch(this.b, "strip", known, from, until, strip.pixels) : { rows: 0, columns: [] };
    widen(block, other, strip.pixels);
    for (const number of numbers) for (const k of [0, 1]) {
      const source = number === undefined ? null : other.columns[2 * known.indexOf(number) + k];
      block.columns.push(source ? onGrid(source, other, block, k ? Math.max : Math.min) : new Float32Array(block.rows).fill(NaN));
    }
  }

  recolour() { for (const strip of this.strips) strip.recolour(); this.#ask(); }
}

async function about(name) {
  if (!name) return null;
  try { return await (await fetch(`api/run?${new URLSearchParams({ name })}`)).json(); }
  catch (error) { return { error: `The server does not answer: ${error.message}` }; }
}

async function stretch(run, kind, channels, from, to, pixels) {
  const words = new URLSearchParams({ name: run.name, kind, channels: channels.join(), from, to, pixels });
  const answer = await fetch(`api/stretch?${words}`);
  if (!answer.ok) throw new Error((await answer.json()).error);
  return decode(await answer.arrayBuffer()).blocks[0];
}
