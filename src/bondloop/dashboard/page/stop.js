// The page's own way to the loop's stop: a process that answers though the server computes, hangs or is dead.
import { always } from "./keep.js";

const LOOK = 2000, PATIENCE = 1500; // milliseconds between looks whether it is there, and until an answer is given up

export class DirectStop extends EventTarget {
  #link; #port = null; #loop = "";
  ready = false; // whether it answers

  constructor(link) {
    super();
    this.#link = link;
    link.on("status", ({ stop_port: port }) => { if (port !== this.#port) { this.#port = port ?? null; this.#look(); } });
    link.on("loop", (loop) => { this.#loop = loop.segment ?? ""; });
    setInterval(() => this.#look(), LOOK);
  }

  // Trip, retreat or stop the loop that is shown; the promise is kept when the loop has confirmed.
  async request(kind) {
    const { loops } = await this.#ask(kind, { method: "POST", body: JSON.stringify({ loop: this.#loop, name: always.get("name") ?? "", badge: this.#link.badge }) });
    if (!loops.length) throw new Error("there is nothing to stop: no loop runs");
    const refused = loops.find((loop) => loop.refused);
    if (refused) throw new Error(`${kind}: nothing to do, the loop is ${refused.state}`);
    if (!loops.every((loop) => loop.confirmed)) throw new Error(`the loop has not confirmed: ${kind}; press the emergency stop`);
    return `${kind} in ${Math.round(1000 * Math.max(...loops.map((loop) => loop.seconds)))} ms`;
  }

  async #look() {
    const before = this.ready;
    try { await this.#ask("", {}); this.ready = true; } catch { this.ready = false; }
    if (before !== this.ready) this.dispatchEvent(new Event("change"));
  }

  async #ask(path, options) {
    if (this.#port === null) throw new Error("the stop has no port");
    const address = new URL(`/${path}`, location.href);
    address.port = String(this.#port);
    const answer = await fetch(address, { ...options, credentials: "include", cache: "no-store", signal: AbortSignal.timeout(path ? 2 * PATIENCE : PATIENCE) });
    const said = await answer.json();
    if (!answer.ok) throw new Error(said.error);
    return said;
  }
}
