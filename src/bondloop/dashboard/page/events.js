// The event log, newest first.
import { element } from "./format.js";

const MOST = 300;

export function startEvents(link) {
  const list = document.getElementById("events");
  let seen = 0;
  link.on("open", () => { seen = 0; list.replaceChildren(); });
  link.on("events", ({ events }) => {
    for (const event of events) {
      if (event.number <= seen) continue;
      seen = event.number;
      const at = new Date(1000 * event.at).toLocaleTimeString("en-GB"), when = event.test_time === null ? at : `${at} t=${event.test_time.toFixed(2)}`;
      list.prepend(element("li", { "data-kind": event.kind }, element("time", { text: when }), `${event.text.replace(" -> ", " → ")}${event.who && !event.text.includes(event.who) ? ` (${event.who})` : ""}`));
    }
    while (list.children.length > MOST) list.lastChild.remove();
  });
}
