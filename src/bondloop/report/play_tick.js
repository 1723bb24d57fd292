"use strict";
// The tick of a test, compiled to WebAssembly, and the last seconds of what it gave.

const PAGE = 65536;

// Says in the page why it cannot run: whatever went wrong while it was set up, or in a frame, which is then the last.
window.addEventListener("error", (event) => {
  const line = document.getElementById("state");
  line.textContent = `This page cannot run: ${event.error ? event.error.message : event.message}`;
  line.className = "bad";
  for (const part of document.querySelectorAll("#controls, main, #sliders")) part.style.display = "none";
});

function bytes(text) {
  return Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
}

function doubles(text) {
  return new Float64Array(bytes(text).buffer);
}

// Makes the compiled test; nothing that it might ask for is there to be given.
function instance(wasm) {
  if (typeof WebAssembly === "undefined")
    throw new Error("this browser has no WebAssembly, or it is switched off here; open the page in another one");
  const module = new WebAssembly.Module(bytes(wasm));
  const asked = WebAssembly.Module.imports(module).map((i) => `${i.module}.${i.name}`);
  if (asked.length)
    throw new Error(`the compiled test asks for ${asked.join(", ")}, which no browser has; write the page anew with clang or another ziglang`);
  return new WebAssembly.Instance(module, {});
}

// The tick of one variant, with its memory: inputs, state, parameters, rows, and where it stopped.
class Tick {
  constructor(about) {
    this.about = about;
    this.table = doubles(about.table);
    this.first = doubles(about.state);
    const made = instance(about.wasm);
    this.run = made.exports[about.run];
    this.memory = made.exports.memory;
    const chunk = (this.chunk = 2000);
    let at = (made.exports.__heap_base.value + 15) & ~15;
    const room = (count) => {
      const here = at;
      at += 8 * count;
      return here;
    };
    this.inputsAt = room(chunk * Math.max(1, about.inputs));
    this.stateAt = room(this.first.length);
    this.parametersAt = room(Math.max(1, about.parameters.length));
    this.rowsAt = room(chunk * about.channels.length);
    this.stoppedAt = room(2);
    const missing = at - this.memory.buffer.byteLength;
    if (missing > 0) this.memory.grow(Math.ceil(missing / PAGE));
    this.values = about.parameters.map((p) => p.value);
    this.reset();
  }

  view(at, count) {
    return new Float64Array(this.memory.buffer, at, count);
  }

  reset() {
    this.count = 0;
    this.status = 0;
    this.channel = -1;
    this.view(this.stateAt, this.first.length).set(this.first);
  }

  // Executes ticks; returns how many. `rows` holds them until the next call; the status is not 0 once it has stopped.
  advance(wanted) {
    const { inputs, channels, period, steps } = this.about;
    const n = Math.min(wanted, this.chunk, steps - this.count);
    if (n <= 0 || this.status) return 0;
    if (inputs) {
      const from = this.count * inputs;
      this.view(this.inputsAt, n * inputs).set(this.table.subarray(from, from + n * inputs));
    }
    this.view(this.parametersAt, this.values.length).set(this.values);
    this.status = this.run(n, this.count, period, this.inputsAt, this.stateAt, this.parametersAt, this.rowsAt, 1,
      this.stoppedAt, this.stoppedAt + 8);
    const ended = new Int32Array(this.memory.buffer, this.stoppedAt, 4);
    const done = this.status ? ended[0] - this.count + 1 : n;
    this.channel = this.status ? ended[2] : -1;
    this.rows = this.view(this.rowsAt, done * channels.length);
    this.count += done;
    return done;
  }
}

// The last seconds of some channels, in rings: nothing is allocated while the test runs.
class Recent {
  constructor(tick, seconds) {
    this.period = tick.about.period;
    this.width = tick.about.channels.length;
    this.size = Math.ceil(seconds / this.period) + 1;
    this.places = [...new Set(tick.about.pairs.flatMap((p) => [p.desired, p.actual]))];
    this.rings = new Map(this.places.map((p) => [p, new Float64Array(this.size)]));
    this.clear();
  }

  clear() {
    this.end = 0; // ticks so far; tick k stands at k modulo the size
  }

  get begin() {
    return Math.max(0, this.end - this.size);
  }

  // Takes over the rows of so many ticks.
  take(rows, count) {
    for (const [place, ring] of this.rings) {
      let at = this.end % this.size;
      for (let i = 0, j = place; i < count; i++, j += this.width) {
        ring[at] = rows[j];
        if (++at === this.size) at = 0;
      }
    }
    this.end += count;
  }
}
