// Numbers with units, as people read them.
const MOMENTS = [[1e-3, "mN m"], [1, "N m"], [1e3, "kN m"]];
const STEPS = { m: [[1e-6, "µm"], [1e-3, "mm"], [1, "m"]], "m/s": [[1e-3, "mm/s"], [1, "m/s"]], N: [[1e-3, "mN"], [1, "N"], [1e3, "kN"]],
  "N*m": MOMENTS, "N m": MOMENTS, "rad/s": [[1e-3, "mrad/s"], [1, "rad/s"]], V: [[1e-3, "mV"], [1, "V"], [1e3, "kV"]],
  A: [[1e-3, "mA"], [1, "A"]], Pa: [[1, "Pa"], [1e3, "kPa"], [1e6, "MPa"]], W: [[1e-3, "mW"], [1, "W"], [1e3, "kW"]], s: [[1e-6, "µs"], [1e-3, "ms"], [1, "s"]], rad: [[1e-3, "mrad"], [1, "rad"]] };

// The unit in which a size is best written, and what to divide by.
export function scaleFor(unit, size) {
  const steps = STEPS[unit];
  if (!steps || !(size > 0)) return { by: 1, unit };
  let chosen = steps[0];
  for (const step of steps) if (size >= 0.999 * step[0]) chosen = step;
  return { by: chosen[0], unit: chosen[1] };
}

export function digits(value, count = 3) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e5 || size < 1e-4) return value.toExponential(count - 1);
  return String(Number(value.toPrecision(count)));
}

export function withUnit(value, unit, count = 3) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const scale = value ? scaleFor(unit, Math.abs(value)) : { by: 1, unit };
  return `${digits(value / scale.by, count)}${scale.unit ? " " + scale.unit : ""}`;
}

// A size, the largest so far and the limit, all in the unit in which the limit is best written, and to a thousandth
// of it or finer, so that the figures stand still and none is rounded past it. Without a limit the larger one counts.
export function ofLimit({ now, most, limit, unit }) {
  const scale = scaleFor(unit, limit ?? Math.max(now ?? 0, most ?? 0)), places = 3 - Math.floor(Math.log10(limit / scale.by));
  const fixed = limit > 0 && places <= 12;
  const say = (value) => (fixed && value !== null && value < 1e5 * scale.by ? (value / scale.by).toFixed(Math.max(0, places)) : digits(value === null ? null : value / scale.by));
  const last = scale.unit ? ` ${scale.unit}` : "", figures = `${say(now)}, most ${say(most)}`;
  return limit === null ? `${figures}${last}, no limit` : `${figures} of ${digits(limit / scale.by, 5)}${last}`;
}

// Of what is below a hundredth of a per cent the digits say nothing.
export const percent = (share) => (share === null || share === undefined ? "–" : `${digits(Math.abs(share) < 1e-4 ? 0 : 100 * share)} %`);

export function element(tag, attributes = {}, ...inside) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "text") made.textContent = value;
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...inside.filter((x) => x !== null));
  return made;
}

// Colours of the style sheet, asked for once a theme: asking makes the browser compute styles.
const known = new Map();
export function colour(name) {
  const key = `${document.documentElement.dataset.theme} ${name}`;
  if (!known.has(key)) known.set(key, getComputedStyle(document.documentElement).getPropertyValue(name).trim());
  return known.get(key);
}
