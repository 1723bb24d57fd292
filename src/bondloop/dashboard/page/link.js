// The WebSocket: commands with answers, messages by type, and connecting again when the server was gone.
import { decode } from "./frames.js";
import { always, session } from "./keep.js";

const PATIENCE = [300, 600, 1200, 2500];
// The server speaks ten times a second, to a page in the background every two seconds. Milliseconds without a word after which
// what is shown is old, and after which the connection is given up: a network that stalls closes nothing by itself.
const SILENT = 3000, GIVEN_UP = 10000;
const FULL = 4013; // the code with which the server closes a connection for which it has no place; its reason is for people

function badge() {
  let kept = session.get("badge");
  if (!kept) {
    kept = Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");
    session.set("badge", kept);
  }
  return kept;
}

export class Link extends EventTarget {
  #socket = null; #tries = 0; #number = 0; #waiting = new Map(); #heard = 0; #seen = null;

  constructor() {
    super();
    setInterval(() => this.#listen(), 500);
  }

  connect() {
    const address = new URL("socket", location.href);
    address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
    address.hash = "";
    const socket = new WebSocket(address);
    socket.binaryType = "arraybuffer";
    this.#socket = socket;
    socket.onopen = () => {
      this.#tries = 0;
      this.#heard = performance.now();
      this.send({ hello: badge(), name: always.get("name") || "browser" });
      this.#tell("open");
    };
    socket.onmessage = (event) => this.#hear(event.data);
    socket.onclose = (event) => {
      this.silent = false;
      for (const { reject } of this.#waiting.values()) reject(new Error("the connection broke: what became of it is not known"));
      this.#waiting.clear();
      this.#tell("lost", event?.code === FULL ? event.reason : "");
      const wait = event?.code === FULL ? PATIENCE.at(-1) : PATIENCE[Math.min(this.#tries++, PATIENCE.length - 1)];
      setTimeout(() => this.connect(), wait);
    };
  }

  get badge() { return badge(); }

  get open() { return this.#socket?.readyState === WebSocket.OPEN; }

  send(message) { if (this.open) this.#socket.send(JSON.stringify(message)); }

  // What the server last said, if that is some time ago; and, after a while, another try.
  #listen() {
    if (!this.open) return;
    const since = performance.now() - this.#heard;
    if (this.silent !== since > SILENT) { this.silent = since > SILENT; this.#tell(this.silent ? "silent" : "heard"); }
    if (since < GIVEN_UP) return;
    const socket = this.#socket, gone = socket.onclose;
    socket.onopen = socket.onmessage = socket.onclose = null;
    socket.close();
    gone();
  }

  // Ask for something, and say how old what is shown is, so that nothing is done on an old picture; the promise is kept when the loop, or the server, has confirmed it.
  ask(command) {
    if (!this.open) return Promise.reject(new Error("the server does not answer"));
    const id = ++this.#number;
    const answer = new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
    this.send({ ...command, id, ...(this.#seen === null ? {} : { seen: this.#seen }) });
    return answer;
  }

  #hear(data) {
    this.#heard = performance.now();
    if (data instanceof ArrayBuffer) { this.#tell("frame", decode(data)); return; }
    const message = JSON.parse(data);
    if (message.type === "answer") {
      const waiting = this.#waiting.get(message.id);
      this.#waiting.delete(message.id);
      if (waiting) message.error === undefined ? waiting.resolve(message.done) : waiting.reject(new Error(message.error));
      else if (message.error) this.#tell("trouble", message.error);
      return;
    }
    if (message.type === "status") this.#seen = message.at;
    this.#tell(message.type, message);
  }

  #tell(type, detail) { this.dispatchEvent(new CustomEvent(type, { detail })); }

  on(type, hear) { this.addEventListener(type, (event) => hear(event.detail)); }
}
