// What is looked at before a test: the check, the channels, the pre-flight list.
import { digits, element, withUnit } from "./format.js";

const place = (id) => document.getElementById(id);

export class Prepare {
  constructor(link) {
    this.link = link;
    link.on("status", (status) => this.#preflight(status));
    place("check-now").addEventListener("click", () => this.#check());
  }

  async shown() {
    if (this.listed) return;
    this.listed = true;
    const { channels } = await (await fetch("api/channels")).json();
    place("channel-table").replaceChildren(channels.length
      ? table(["channel", "unit", "role", "quantity", "actuator"], channels.map((c) => [c.name, c.unit, c.role ?? "", c.quantity ?? "", c.interface === undefined ? "" : String(c.interface + 1)]))
      : element("p", { text: "No test was given: bondloop dashboard TEST" }));
  }

  async #check() {
    const button = place("check-now");
    button.disabled = true;
    place("verdict").textContent = "Checking…";
    delete place("verdict").dataset.level;
    const answer = await fetch("api/check", { method: "POST" }), found = await answer.json();
    button.disabled = false;
    if (!answer.ok) { place("verdict").textContent = found.error; place("verdict").dataset.level = "stop"; return; }
    place("verdict").textContent = `${found.verdict} (checked at ${new Date(1000 * found.at).toLocaleTimeString("en-GB")})`;
    place("verdict").dataset.level = found.level ?? (found.passed ? "run" : "stop");
    place("findings").replaceChildren(...listed(found));
    place("margins").replaceChildren(...margins(found.margins));
    place("check-figure").hidden = !found.has_figure;
    if (found.has_figure) place("check-figure").src = `api/check.svg?${found.at}`; // not the one of the check before
  }

  #preflight({ preflight, loop, absence }) {
    const list = place("preflight-list"), key = JSON.stringify(preflight);
    place("preflight-about").textContent = loop?.emulated ? "The rig is emulated: the list need not be ticked." : "Each item must be ticked by the operator before a rig that is no model may be armed.";
    if (absence.then === "retreat") place("preflight-about").textContent += ` Without an operator for ${absence.seconds} s the rig retreats.`;
    if (list.dataset.key === key) return;
    list.dataset.key = key;
    list.replaceChildren(...preflight.map((item, i) => {
      const box = element("input", { type: "checkbox", onchange: async () => {
        try { await this.link.ask({ do: "tick", item: i, ticked: box.checked }); }
        catch (error) { box.checked = !box.checked; place("preflight-about").textContent = error.message; }
      } });
      box.checked = Boolean(item.by);
      return element("li", {}, element("label", {}, box, item.text, item.by ? element("small", { text: ` (${item.by})` }) : null));
    }));
  }
}

const MARKS = { stop: "✖ against", care: "⚠ near", run: "✓ for" };

function listed(found) {
  const findings = found.findings ?? [...(found.problems ?? []).map((text) => ({ level: "stop", text })), ...(found.warnings ?? []).map((text) => ({ level: "care", text }))];
  const notes = (found.notes ?? []).map((text) => ["note", text]);
  return [table(["", "finding"], [...findings.map((f) => [MARKS[f.level] ?? f.level, f.text]), ...notes])];
}

function margins(found) {
  if (!found) return [];
  const rows = Object.entries(MARGINS).filter(([name]) => found[name] !== undefined && found[name] !== null).map(([name, [words, unit]]) => [words, ...margin(found[name], unit)]);
  return [element("h3", { text: "Margins" }), table(["the loop stands", "up to", "breaks at", "where"], rows)];
}

// What each margin says, and in which unit; the others of the check are explained by its figure.
const MARGINS = { delay: ["more delay", "s"], gain: ["more gain", "×"], least_gain: ["less gain", "×"], stiffer: ["a stiffer specimen", "×"], lighter: ["a lighter structure", "×"], model_error: ["an error of the actuator's model", "%"] };

function margin(value, unit) {
  if (!value.found) return ["all that was tried", "", ""];
  const size = unit === "s" ? withUnit(value.value, "s") : unit === "%" ? `${digits(100 * value.value)} %` : `${unit} ${digits(value.value, 4)}`;
  return [size, value.frequency ? `${digits(value.frequency)} Hz` : "", value.where ?? ""];
}

function table(head, rows) {
  return element("table", {}, element("thead", {}, element("tr", {}, ...head.map((t) => element("th", { text: t, scope: "col" })))),
    element("tbody", {}, ...rows.map((row) => element("tr", {}, ...row.map((t) => element("td", { text: t }))))));
}
