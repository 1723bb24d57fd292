// Which plots a test gets, by what its channels are; and how they are told to the server and drawn.
import { Plane } from "./plane.js";
import { Strip } from "./strip.js";

const MOST_PLANES = 36; // of the 40 plots that the server grants a page, 4 are strips
const numbers = (channels, fits) => channels.map((c, i) => [c, i]).filter(([c]) => fits(c)).map(([, i]) => i);

// Four strips: motion, force, command or excitation, gains or errors. Each shows what the test has of that.
export function defaultChoices(channels) {
  const of = (roles, kinds) => numbers(channels, (c) => roles.includes(c.role) && (!kinds || kinds.includes(c.kind)));
  const motion = of(["desired", "actual"], ["displacement"]).slice(0, 6);
  const force = of(["measured"], ["effort"]).slice(0, 4);
  const command = of(["command"]).slice(0, 4);
  const gains = of(["gain"]).slice(0, 8);
  const errors = of(["error"]).slice(0, 4), shaking = of(["excitation"]);
  const excitation = shaking.filter((i) => channels[i].unit === channels[shaking[0]].unit).slice(0, 3);
  return [
    ["Motion", motion.length ? motion : numbers(channels, () => true).slice(0, 2)],
    ["Force", force.length ? force : of(["actual"], ["effort"]).slice(0, 4)],
    ["Command", command],
    gains.length ? ["Adaptive gains", gains] : ["Excitation", excitation.length ? excitation : errors],
  ];
}

export function makeStrips(place, channels, window, changed, choices = null, compared = false) {
  const strips = (choices ?? defaultChoices(channels)).map(([title, chosen]) => new Strip({ title, channels, chosen, window, changed, compared }));
  place.replaceChildren(...strips.map((s) => s.box));
  return strips;
}

export function makePlanes(place, channels, pairs, loops) {
  const several = pairs.length > 1;
  const planes = pairs.map((pair) => ({
    channels: [pair.desired, pair.actual], interface: pair.interface,
    plane: new Plane({ title: `Synchronisation${several ? ` ${pair.interface + 1}` : ""}`, equal: true,
      x: { label: "desired", unit: channels[pair.desired].unit }, y: { label: "actual", unit: channels[pair.actual].unit } }),
  }));
  for (const loop of loops)
    planes.push({
      channels: [loop.displacement, loop.force], interface: null,
      plane: new Plane({ title: `Hysteresis${several ? ` ${loop.interface + 1}` : ""}`, equal: false,
        x: { label: channels[loop.displacement].quantity || "displacement", unit: channels[loop.displacement].unit },
        y: { label: channels[loop.force].quantity || "force", unit: channels[loop.force].unit } }),
    });
  place.replaceChildren(...planes.map((p) => p.plane.box));
  place.classList.toggle("many", planes.length > 6); // then they scroll by themselves, and the log stays in reach
  return planes;
}

// What the server is asked to send: strips from 0, planes from 100.
export const asked = (strips, planes, window) => [
  ...strips.map((s, i) => ({ plot: i, kind: "strip", channels: s.chosen, window: s.window, pixels: s.pixels })).filter((p) => p.channels.length),
  ...planes.map((p, i) => ({ plot: 100 + i, kind: "plane", channels: p.channels, window: Math.min(window, 3), pixels: 600 })).filter((_, i) => planes[i].near !== false).slice(0, MOST_PLANES),
];
