// A test in the browser: this file paces the tick, draws it and lets its parameters be moved.

const data = JSON.parse(document.getElementById("data").textContent);
const WINDOW = 6; // seconds that the histories show
const TRAIL = 2; // seconds of the subspace plot
const POINTS = 400; // of the subspace plot, at most

const ticks = new Map(Object.entries(data.variants).map(([name, about]) => [name, new Tick(about)]));
let tick = ticks.values().next().value;
let recent = new Recent(tick, WINDOW);
let running = true;
let owed = 0; // seconds of the test that are to be computed
let last = null;
let speed = 1;
let pair = 0;
let frames = 0;
const work = { ticking: 0, drawing: 0 }; // milliseconds of all frames so far

const byId = (id) => document.getElementById(id);
let colours = {};

// Looks up the colours of the style, which change with the reader's light or dark page, and no more often.
function readColours() {
  const style = getComputedStyle(document.documentElement);
  colours = Object.fromEntries(["desired", "actual", "error", "rule", "soft"].map((name) =>
    [name, style.getPropertyValue(`--${name}`).trim()]));
}

function restart() {
  tick.reset();
  recent.clear();
  owed = 0;
  running = true;
}

function shown(value, unit) {
  const size = Math.abs(value);
  if (["m", "m/s", "s", "N", "J"].includes(unit) && size > 0 && size < 1)
    return size < 1e-3 ? `${(1e6 * value).toPrecision(3)} µ${unit}` : `${(1e3 * value).toPrecision(3)} m${unit}`;
  return `${size >= 1e7 ? value.toExponential(3) : Number(value.toPrecision(4))} ${unit}`.trim();
}

// Canvases whose pixels are those of the screen. Their sizes are asked for when they change: asking in every
// frame would let the browser lay out the page in every frame.
const canvases = new Map(["history", "error", "subspace"].map((id) => {
  const canvas = byId(id);
  return [id, { canvas, pen: canvas.getContext("2d"), width: 0, height: 0 }];
}));

function resize() {
  const ratio = window.devicePixelRatio || 1;
  for (const sheet of canvases.values()) {
    sheet.width = sheet.canvas.clientWidth;
    sheet.height = sheet.canvas.clientHeight;
    sheet.canvas.width = Math.round(sheet.width * ratio);
    sheet.canvas.height = Math.round(sheet.height * ratio);
    sheet.pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    sheet.pen.font = "12px sans-serif";
  }
}

function cleared(id) {
  const sheet = canvases.get(id);
  sheet.pen.clearRect(0, 0, sheet.width, sheet.height);
  return sheet;
}

function niceEnd(size) {
  const power = 10 ** Math.floor(Math.log10(size || 1e-9));
  return power * [1, 2, 2.5, 5, 10].find((k) => k * power >= size * 0.999);
}

function frame({ pen, width, height }, top, unit, square) {
  const box = { left: 62, right: width - 8, top: 8, bottom: height - 24 };
  if (square) {
    const side = Math.min(box.right - box.left, box.bottom - box.top);
    box.right = box.left + side;
    box.bottom = box.top + side;
  }
  pen.strokeStyle = colours.rule;
  pen.fillStyle = colours.soft;
  pen.lineWidth = 1;
  pen.textAlign = "right";
  pen.textBaseline = "middle";
  pen.beginPath();
  for (const share of [-1, -0.5, 0, 0.5, 1]) {
    const y = (box.top + box.bottom) / 2 - (share * (box.bottom - box.top)) / 2;
    pen.moveTo(box.left, y);
    pen.lineTo(box.right, y);
    if (share !== 0.5 && share !== -0.5) pen.fillText(share ? shown(share * top, unit) : "0", box.left - 5, y);
  }
  pen.stroke();
  return box;
}

// Draws one channel, or one less another, over the window: of the ticks in one column of pixels only the lowest
// and the highest, which looks the same as all of them.
function curve(pen, box, first, top, style, line, dash, place, less) {
  const { begin, end, size, period } = recent;
  const ring = recent.rings.get(place);
  const base = less === undefined ? null : recent.rings.get(less);
  const perTick = ((box.right - box.left) * period) / WINDOW;
  const middle = (box.top + box.bottom) / 2;
  const up = (box.bottom - box.top) / 2 / top;
  pen.strokeStyle = style;
  pen.lineWidth = line;
  pen.setLineDash(dash);
  pen.beginPath();
  let column = -1;
  let low = 0;
  let high = 0;
  let rising = true;
  const put = () => {
    const x = box.left + column + 0.5;
    const from = middle - (rising ? low : high) * up;
    const to = middle - (rising ? high : low) * up;
    pen.lineTo(x, from);
    if (to !== from) pen.lineTo(x, to);
  };
  let at = begin % size;
  let before = 0;
  for (let k = begin; k < end; k++) {
    const value = base ? ring[at] - base[at] : ring[at];
    if (++at === size) at = 0;
    const c = Math.floor((k - first) * perTick);
    if (c !== column) {
      if (column >= 0) put();
      rising = value >= before;
      column = c;
      low = high = value;
    } else if (value < low) low = value;
    else if (value > high) high = value;
    before = value;
  }
  if (column >= 0) put();
  pen.stroke();
  pen.setLineDash([]);
}

// Largest motion and error of the window, and their sums of squares.
function sizes(desired, actual) {
  const d = recent.rings.get(desired);
  const a = recent.rings.get(actual);
  const found = { motion: 0, error: 0, motions: 0, errors: 0 };
  const count = recent.end - recent.begin;
  for (let i = 0; i < count; i++) { // in any order: all that the rings hold
    const off = a[i] - d[i];
    found.motion = Math.max(found.motion, Math.abs(d[i]), Math.abs(a[i]));
    found.error = Math.max(found.error, Math.abs(off));
    found.motions += d[i] * d[i];
    found.errors += off * off;
  }
  return found;
}

function draw() {
  const { pairs, channels, period } = tick.about;
  const { desired, actual } = pairs[pair];
  const unit = channels[desired].unit;
  const end = Math.max(0, recent.end - 1) * period;
  const begin = Math.max(0, end - WINDOW);
  const first = begin / period;
  const size = sizes(desired, actual);
  const top = niceEnd(size.motion || 1e-6);

  const above = cleared("history");
  const box = frame(above, top, unit, false);
  curve(above.pen, box, first, top, colours.desired, 1.4, [], desired);
  curve(above.pen, box, first, top, colours.actual, 1.8, [6, 3], actual);
  above.pen.textAlign = "center";
  above.pen.fillStyle = colours.soft;
  const across = (t) => box.left + ((t - begin) / WINDOW) * (box.right - box.left);
  for (let t = Math.ceil(begin); t <= begin + WINDOW; t++) // whole within the box, not cut at its end
    above.pen.fillText(`${t} s`, Math.min(across(t), box.right - 8), box.bottom + 13);

  const below = cleared("error");
  const most = niceEnd(Math.max(1e-9 * top, size.error));
  curve(below.pen, frame(below, most, unit, false), first, most, colours.error, 1.4, [], actual, desired);

  drawSubspace(top, unit, desired, actual);
  say(size, end);
}

function drawSubspace(top, unit, desired, actual) {
  const sheet = cleared("subspace");
  const box = frame(sheet, top, unit, true);
  const { pen } = sheet;
  const x = (v) => (box.left + box.right) / 2 + (v / top) * ((box.right - box.left) / 2);
  const y = (v) => (box.top + box.bottom) / 2 - (v / top) * ((box.bottom - box.top) / 2);
  pen.textAlign = "center";
  pen.fillStyle = colours.soft;
  for (const share of [-1, 0, 1]) {
    const inset = share * 24; // the outer ones stay on the page
    pen.fillText(share ? shown(share * top, unit) : "0", x(share * top) - inset, box.bottom + 13);
  }
  pen.strokeStyle = colours.soft;
  pen.beginPath();
  pen.moveTo(x(-top), y(-top));
  pen.lineTo(x(top), y(top));
  pen.stroke();
  const d = recent.rings.get(desired);
  const a = recent.rings.get(actual);
  const from = Math.max(recent.begin, recent.end - Math.round(TRAIL / recent.period));
  const stride = Math.max(1, Math.ceil((recent.end - from) / POINTS));
  const parts = 8; // the older, the fainter
  const each = Math.ceil((recent.end - from) / parts / stride) * stride || 1;
  pen.strokeStyle = colours.error;
  pen.lineWidth = 1.8;
  for (let part = 0; part < parts; part++) {
    pen.globalAlpha = 0.15 + (0.85 * (part + 1)) / parts;
    pen.beginPath();
    const stop = Math.min(recent.end - 1, from + (part + 1) * each);
    for (let k = from + part * each; k <= stop; k += stride) {
      const at = k % recent.size;
      pen.lineTo(x(d[at]), y(a[at]));
    }
    pen.stroke();
  }
  pen.globalAlpha = 1;
}

// Writes a text where it is another one: the browser lays out the page anew for every write.
function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function say(size, end) {
  const { channels, steps, period } = tick.about;
  const share = size.motions > 0
    ? `error ${(100 * Math.sqrt(size.errors / size.motions)).toPrecision(3)} % (rms)` : "at rest";
  write(byId("clock"), `${end.toFixed(2)} s of ${(steps * period).toPrecision(4)} s · ${share}`);
  const line = byId("state");
  let text = running ? "running" : "paused";
  let kind = "good";
  if (tick.status) {
    const channel = channels[tick.channel];
    const bound = channel && channel.bound < 1e9 ? `, limit ${shown(channel.bound, channel.unit)}` : "";
    text = channel ? `STOPPED: ${channel.name} left its bounds${bound}` : "STOPPED: a loop has no solution";
    kind = "bad";
  } else if (tick.count >= steps) {
    text = "the test is over";
  }
  write(line, text);
  if (line.className !== kind) line.className = kind;
  write(byId("go"), running ? "Pause" : "Go on");
}

function compute(passed) {
  owed += passed * speed;
  const { period } = tick.about;
  let ticksOwed = Math.floor(owed / period);
  owed -= ticksOwed * period;
  while (ticksOwed > 0) {
    const done = tick.advance(ticksOwed);
    if (!done) break;
    recent.take(tick.rows, done);
    ticksOwed -= done;
  }
}

function step(now) {
  const passed = last === null ? 0 : Math.min(0.1, (now - last) / 1000); // a hidden page does not catch up
  last = now;
  const began = performance.now();
  if (running) compute(passed);
  const computed = performance.now();
  draw();
  work.ticking += computed - began;
  work.drawing += performance.now() - computed;
  frames += 1;
  requestAnimationFrame(step);
}
