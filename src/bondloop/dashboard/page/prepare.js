// What is looked at before a test: the check, the channels, the pre-flight list.
import { digits, element, withUnit } from "./format.js";

const place = (id) => document.getElementById(id);

export class Prepare {
  constructor(link) {
    this.link = link; this.me = ""; this.trouble = ""; this.telling = false;
    link.on("you", ({ name }) => { this.me = name; });
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

  // What the loop observes has a mark, what people confirm a box. Elements stay: one that were made anew under a press would lose it.
  #preflight({ preflight, loop, presence, absence }) {
    const list = place("preflight-list"), key = JSON.stringify(preflight.map((item) => [item.text, item.kind]));
    const about = !loop ? "The list is shown as soon as there is a loop." : loop.emulated ? "The rig is emulated: it needs no list." : "A machine is armed when every item holds. What the loop observes cannot be ticked by hand.";
    place("preflight-about").textContent = this.trouble || about + (absence.then === "retreat" ? ` Without an operator for ${absence.seconds} s the rig retreats.` : "");
    if (list.dataset.key !== key) { list.dataset.key = key; this.trouble = ""; list.replaceChildren(...preflight.map((item) => this.#item(item))); }
    preflight.forEach((item, i) => {
      const [mark, words] = [list.children[i].querySelector("input, b"), list.children[i].querySelector("small")];
      if (mark.localName === "input") { if (!mark.disabled) mark.checked = Boolean(item.by); }
      else { mark.textContent = item.missing ? "○" : "✓"; mark.title = item.missing ? "observed by the loop: missing" : "observed by the loop"; }
      list.children[i].dataset.holds = String(!item.missing);
      const text = item.missing || `${item.by}, ${new Date(item.at).toLocaleTimeString("en-GB")}${item.evidence ? `: ${item.evidence}` : ""}`;
      if (words.textContent !== text) words.textContent = text;
      if (item.kind === "observed" && item.missing.startsWith("read the check") && presence.operator === this.me) this.#verdictShown();
    });
  }

  #item(item) {
    if (item.kind === "observed") return element("li", {}, element("label", {}, element("b", {}), item.text, element("small", {})));
    const box = element("input", { type: "checkbox", onchange: async () => {
      box.disabled = true; // until it is confirmed the status says what it was before
      try { await this.link.ask({ do: "tick", item: item.text, ticked: box.checked }); this.trouble = ""; }
      catch (error) { box.checked = !box.checked; place("preflight-about").textContent = this.trouble = error.message; }
      box.disabled = false;
    } });
    return element("li", {}, element("label", {}, box, item.text, element("small", {})));
  }

  // The verdict counts as shown when the operator had it before his eyes.
  #verdictShown() {
    if (place("view-prepare").hidden || document.visibilityState !== "visible" || this.telling) return;
    this.telling = true;
    this.link.ask({ do: "shown" }).catch(() => {}).finally(() => { this.telling = false; });
  }
}

const MARKS = { stop: "✖ against", vain: "✖ worth nothing", care: "⚠ near", run: "✓ for" };

function listed(found) {
  const rows = (found.findings ?? []).map((f) => [f.rule, f.accepted ? `accepted: ${f.accepted}` : MARKS[f.level] ?? f.level, f.text]);
  const notes = (found.notes ?? []).map((text) => ["", "note", text]);
  return [table(["rule", "", "finding"], [...rows, ...notes])];
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
