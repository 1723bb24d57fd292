// What the operator does: every command is shown as done only when the loop has confirmed it.
import { element, withUnit, digits } from "./format.js";

const place = (id) => document.getElementById(id);
const NAMES = { none: ["○", "no loop"], unconfigured: ["○", "getting ready"], inactive: ["○", "inactive"], armed: ["◔", "armed"], active: ["▶", "running"], hold: ["❚❚", "holding"],
  retreat: ["◀", "retreating"], safe: ["■", "safe"], tripped: ["✖", "tripped"], finalized: ["✓", "ended"], dead: ["✖", "loop died"] };
// In which states a command makes sense.
const FITS = { arm: ["inactive"], start: ["armed"], hold: ["active"], resume: ["hold"], retreat: ["active", "hold"], stop: ["inactive", "armed", "active", "hold", "retreat", "safe", "tripped"],
  reset: ["safe", "tripped"], ramp_in: ["active", "hold", "inactive", "armed"], ramp_out: ["active", "hold", "inactive", "armed"] };
const ENDED = ["none", "finalized", "dead"];
const PRESSED = ["hold", "resume", "ramp_in", "ramp_out"]; // said as the button says it; the log says what was set
const CALMING = ["retreat", "stop", "trip"]; // free to everybody, and sent although what is shown is old
const HASTE = 250; // milliseconds after which what brings the rig to rest goes by the server too

export class Steering {
  constructor(link, direct) {
    this.link = link; this.direct = direct; this.me = ""; this.state = "none"; this.operator = false; this.status = null; this.loop = null;
    link.on("you", ({ name }) => { this.me = name; });
    link.on("loop", (loop) => { this.loop = loop.channels ? loop : null; this.#parameters(); });
    link.on("status", (status) => this.#show(status));
    direct.addEventListener("change", () => this.#allow());
    link.on("lost", () => { this.operator = false; this.#allow(); });
    for (const word of ["silent", "heard"]) link.on(word, () => this.#allow());
    link.on("trouble", (text) => this.#say(text, "bad"));
    for (const button of document.querySelectorAll("[data-do]"))
      button.addEventListener("click", () => this.ask({ do: button.dataset.do, ...(button.dataset.switch ? { switches: [button.dataset.switch] } : {}) }, button));
    place("trip").addEventListener("click", () => this.trip());
    place("take").addEventListener("click", () => this.ask({ do: this.operator ? "give_back" : "take" }, place("take")));
    place("span").addEventListener("input", () => { this.choosing = true; this.#span(); });
    place("span-set").addEventListener("click", () => { this.choosing = false; this.ask({ do: "span", factor: Number(place("span").value) / 100 }, place("span-set")); });
    place("rehearse-start").addEventListener("click", () => { const text = place("rehearse-seconds").value; this.ask({ do: "rehearse", ...(text === "" ? {} : { seconds: Number(text) }) }, place("rehearse-start")); });
    addEventListener("keydown", (event) => { if (event.key === "Escape" && !event.repeat && !place("login").open) { event.preventDefault(); this.trip(); } }, true);
  }

  // A press that does nothing says so: who presses it believes that the rig stops.
  trip() {
    if (!place("trip").disabled) this.ask({ do: "trip" }, place("trip"));
    else if (ENDED.includes(this.state)) this.#say("there is nothing to trip: no loop runs", "");
    else this.#say("TRIP was not sent: neither the stop nor the server answers. Press the emergency stop", "bad");
  }

  async ask(command, button) {
    button.classList.add("wished");
    const wish = [command.do.replace("_", " "), ...(command.switches ?? [])].join(" ");
    this.#say(`${wish}: asked, not confirmed yet`, "");
    try { const done = await (CALMING.includes(command.do) ? this.#calm(command) : this.link.ask(command)); this.#say(`${PRESSED.includes(command.do) ? wish : done}: confirmed`, "good"); }
    catch (error) { this.#say(error.message, "bad"); }
    finally { button.classList.remove("wished"); }
  }

  // To the stop's own process first; by the server too where that does not confirm at once. Either may be the one that arrives.
  #calm(command) {
    const direct = this.direct.request(command.do);
    const late = new Promise((resolve) => { setTimeout(resolve, HASTE); direct.catch(resolve); });
    const other = Promise.race([direct.then(() => true, () => false), late.then(() => false)]).then((done) => (done ? direct : this.link.ask(command)));
    return Promise.any([direct, other]).catch(({ errors }) => { throw errors[0]; });
  }

  #say(text, kind) { const answer = place("answer"); answer.textContent = text; answer.className = kind; }

  #show(status) {
    this.status = status;
    const loop = status.loop, presence = status.presence;
    this.operator = this.me !== "" && presence.operator === this.me;
    this.state = stateOf(loop);
    const [icon, word] = NAMES[this.state] ?? ["?", this.state];
    if (place("state").dataset.state !== this.state) { place("state").dataset.state = this.state; place("state-icon").textContent = icon; place("state-word").textContent = word; }
    place("fact-time").textContent = loop ? `${loop.time.toFixed(2)} s` : "–";
    place("fact-run").textContent = loop ? String(loop.run) : "–";
    place("fact-missed").textContent = loop ? String(loop.missed) : "–";
    place("fact-late").textContent = loop ? String(loop.late) : "–";
    const words = loop ? loop.silence || causeOf(loop, this.loop) : status.rehearsal ? "A rehearsal is being checked and built…" : "";
    if (place("cause").textContent !== words) place("cause").textContent = words;
    place("presence").textContent = presence.operator ? `operator: ${this.operator ? "you" : presence.operator}${presence.waiting ? " (gone; the role waits)" : ""}; viewers: ${presence.viewers}` : `no operator; viewers: ${presence.viewers}`;
    place("take").textContent = this.operator ? "Give role back" : "Take operator's role";
    place("take").disabled = presence.operator !== "" && !this.operator;
    place("test-name").textContent = place("test-name").title = this.loop?.name ?? status.subject?.name ?? "";
    document.title = `${word} – ${this.loop?.name ?? "bondloop"}`;
    place("rehearsal-mark").hidden = !loop?.emulated;
    const recording = loop?.recording ? `Record: ${loop.recording}` : "";
    if (place("recording").textContent !== recording) place("recording").textContent = recording;
    place("rehearse").hidden = !status.subject;
    if (status.subject && !place("rehearse-seconds").value && document.activeElement !== place("rehearse-seconds")) place("rehearse-seconds").placeholder = status.subject.seconds ? String(status.subject.seconds) : "10";
    this.#switches(loop); this.#span(); this.#counts(loop); this.#values(loop); this.#allow();
  }

  #allow() {
    const running = !ENDED.includes(this.state), known = new Set(Object.keys(this.status?.loop?.parameters ?? {}));
    for (const button of document.querySelectorAll("[data-do]")) {
      const fits = FITS[button.dataset.do].includes(this.state) && (button.dataset.do !== "reset" || this.status.loop.state === "safe"), needs = button.dataset.switch ? `switch.${button.dataset.switch}.target` : { hold: "excitation.hold", resume: "excitation.hold" }[button.dataset.do];
      const calms = CALMING.includes(button.dataset.do), heard = calms ? this.link.open || this.direct.ready : this.operator && !this.link.silent;
      button.disabled = !heard || !fits || (needs !== undefined && !known.has(needs));
    }
    place("trip").disabled = !running || !(this.link.open || this.direct.ready);
    place("trip").title = "Bring the rig to its safe state at once; anybody may";
    place("direct").textContent = this.direct.ready ? "● direct to the loop" : "○ by the server only";
    place("direct").dataset.ready = String(this.direct.ready);
    place("span-set").disabled = place("span").disabled = !this.operator || this.link.silent || !running || !known.has("excitation.hold");
    place("rehearse-start").disabled = !this.operator || running || Boolean(this.status?.rehearsal);
    for (const input of document.querySelectorAll(".parameter input, .parameter button")) input.disabled = !this.operator || this.link.silent || !running;
  }

  // Before the start nothing says where a switch stands: what is told is where Start takes it.
  #switches(loop) {
    const starting = loop?.starting ?? [], moves = loop && ["active", "retreat"].includes(loop.state);
    for (const name of ["displacement", "force"]) {
      const value = moves ? loop.values?.[`switch.${name}`] : null, told = starting.find((s) => s.switch === name);
      place(`switch-${name}`).value = value ?? 0;
      place(`switch-${name}-value`).textContent = value === undefined || value === null ? (loop?.state === "safe" ? "out" : "–") : `${Math.round(100 * value)} %`;
      for (const id of [`switch-${name}`, `switch-${name}-value`]) place(id).hidden = Boolean(told);
      showStarting(place(`starting-${name}`), told ? [told] : [], told?.words);
    }
    const coupled = starting.filter((s) => s.couples), names = coupled.map((s) => s.switch).join(" and ");
    showStarting(place("starting"), starting, !coupled.length ? "Start couples nothing: the switches stay out" : names ? `Start couples: ${names}` : coupled[0].words);
    place("switches").hidden = Boolean(this.loop) && !this.loop.parameters.some((p) => p.name === "switch.displacement.target" || p.name === "switch.force.target");
  }

  #span() {
    const parameter = this.loop?.parameters.find((p) => p.name === "excitation.scale"), slider = place("span");
    const asked = this.status?.loop?.parameters?.["excitation.scale"], now = (this.status?.loop?.step >= 0 ? this.status.loop.values?.["excitation.scale"] : null) ?? asked;
    if (parameter) { slider.min = String(100 * (parameter.least ?? 0)); slider.max = String(100 * (parameter.most ?? Math.max(1, asked ?? 1))); }
    if (!this.choosing && asked !== undefined && asked !== null) slider.value = String(100 * asked);
    place("span-value").textContent = now === undefined || now === null ? "–" : this.choosing ? `${digits(100 * now)} → ${slider.value} %` : `${digits(100 * now)} %`;
  }

  #counts(loop) {
    if (!loop) { place("counts").textContent = ""; return; }
    const link = loop.link ?? {}, words = ["sent", "received", "lost", "duplicated", "reordered", "corrupted", "foreign", "late"];
    place("counts").textContent = `Deadlines missed ${loop.missed}, cycles late ${loop.late}, held ${loop.counts.held}, stale ${loop.counts.stale}. Link: ${words.filter((w) => link[w] !== undefined).map((w) => `${w} ${link[w]}`).join(", ")}.`;
  }

  #parameters() {
    const shown = (this.loop?.parameters ?? []).filter((p) => p.tunable && p.name !== "excitation.scale" && p.name !== "excitation.hold" && !p.name.startsWith("switch."));
    place("parameter-list").replaceChildren(...(shown.length ? shown.map((p) => this.#parameter(p)) : [element("p", { text: "This test declares no parameter that may be changed." })]));
  }

  #parameter(p) {
    const input = element("input", { type: "number", step: "any", "aria-label": p.name, value: p.value ?? "", min: p.least ?? undefined, max: p.most ?? undefined });
    const button = element("button", { text: "Set", onclick: () => {
      if (input.value.trim() === "" || !Number.isFinite(Number(input.value))) this.#say(`${p.name}: a number is missing; nothing was asked for`, "bad");
      else this.ask({ do: "set", values: { [p.name]: Number(input.value) } }, button);
    } });
    const bounds = p.least !== null || p.most !== null ? ` from ${withUnit(p.least < 1e-300 && p.least > 0 ? 0 : p.least, p.unit)} to ${withUnit(p.most, p.unit)}` : "";
    return element("div", { class: "parameter", "data-parameter": p.name, "data-unit": p.unit }, element("span", {}, p.name, element("b", { class: "now" })), element("small", { text: `${p.description ?? ""}${p.unit ? ` [${p.unit}]` : ""}${bounds}` }), element("div", {}, input, button));
  }

  #values(loop) {
    for (const row of document.querySelectorAll("[data-parameter]")) row.querySelector(".now").textContent = ` ${withUnit(loop?.parameters?.[row.dataset.parameter], row.dataset.unit, 5)}`;
  }
}

function showStarting(line, starting, words) {
  line.hidden = !starting.length;
  line.dataset.couples = String(starting.some((s) => s.couples));
  const text = starting.length ? `${line.dataset.couples === "true" ? "⚠ " : ""}${words}` : "";
  if (line.textContent !== text) line.textContent = text; // else it would be read out ten times a second
}

export function stateOf(loop) {
  if (!loop) return "none";
  if (loop.cause && ["retreat", "safe", "active"].includes(loop.state)) return "tripped";
  if (loop.state === "inactive" && loop.armed) return "armed";
  if (loop.state === "active" && loop.parameters?.["excitation.hold"] >= 0.5) return "hold";
  return loop.state;
}

function causeOf(loop, about) {
  if (!loop.cause) return "";
  const channel = about?.channels.find((c) => c.name === loop.cause_channel), unit = loop.cause_unit ?? "";
  const value = loop.cause_value === null ? "" : ` Found ${withUnit(loop.cause_value, unit, 4)}${loop.cause_limit === null ? "" : `, limit ${withUnit(loop.cause_limit, unit, 4)}`}${loop.cause_channel ? ` (${loop.cause_channel})` : ""}.`;
  const demand = loop.state === "safe" ? " Reset to go on." : "";
  return `Trip at ${loop.cause_time.toFixed(3)} s: ${loop.cause_words}.${channel || loop.cause_limit !== null ? value : ""}${demand}`;
}
