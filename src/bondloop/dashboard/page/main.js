// The page begins here: token, tabs, theme, and the parts that share one link to the server.
import { startEvents } from "./events.js";
import { always } from "./keep.js";
import { Link } from "./link.js";
import { Live } from "./live.js";
import { Prepare } from "./prepare.js";
import { Replay } from "./replay.js";
import { Steering } from "./steering.js";
import { DirectStop } from "./stop.js";

const place = (id) => document.getElementById(id);
const VIEWS = ["live", "replay", "prepare"];

async function login() {
  const inAddress = new URLSearchParams(location.hash.slice(1)).get("token");
  if (inAddress) history.replaceState(null, "", location.pathname);
  if (inAddress && (await tried(inAddress)) === "") return;
  if ((await fetch("api/runs")).status !== 401) return;
  const dialog = place("login");
  dialog.showModal();
  await new Promise((resolve) => {
    dialog.addEventListener("cancel", (event) => event.preventDefault());
    dialog.querySelector("form").addEventListener("submit", async (event) => {
      event.preventDefault();
      const trouble = await tried(place("token").value);
      place("login-trouble").textContent = trouble;
      if (!trouble) { dialog.close(); resolve(); }
    });
  });
}

async function tried(token) {
  const answer = await fetch("api/login", { method: "POST", body: token });
  return answer.ok ? "" : (await answer.json()).error;
}

function startTheme(changed) {
  const wish = always.get("theme") ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  const show = (theme) => { document.documentElement.dataset.theme = theme; place("theme").textContent = theme === "dark" ? "Light" : "Dark"; };
  show(wish);
  place("theme").addEventListener("click", () => {
    const theme = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    always.set("theme", theme);
    show(theme);
    changed();
  });
}

function startTabs(parts) {
  const show = (name) => {
    for (const view of VIEWS) {
      place(`view-${view}`).hidden = view !== name;
      place(`tab-${view}`).setAttribute("aria-selected", String(view === name));
      place(`tab-${view}`).tabIndex = view === name ? 0 : -1;
    }
    parts[name]?.shown?.();
  };
  for (const view of VIEWS) place(`tab-${view}`).addEventListener("click", () => show(view));
  document.querySelector("nav").addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const at = VIEWS.findIndex((v) => place(`tab-${v}`).getAttribute("aria-selected") === "true");
    const next = VIEWS[(at + step + VIEWS.length) % VIEWS.length];
    show(next);
    place(`tab-${next}`).focus();
  });
  show("live");
  return show;
}

// Whether the server is there: "", "silent" (connected, but nothing has come for seconds) or "lost".
function showServer(how = document.body.dataset.server ?? "", why = document.body.dataset.why ?? "") {
  document.body.dataset.server = how;
  document.body.dataset.why = why;
  const reach = direct.ready ? "TRIP, Retreat and Stop still reach the loop, by a process of their own." : "TRIP may not arrive: use the emergency stop.";
  const words = { silent: `Nothing has come from the server for seconds. What is shown is old. ${reach}`,
    lost: `${why ? `The server has let this page go: ${why}.` : "The server does not answer. What is shown is old."} ${reach} Connecting again…` };
  place("lost").textContent = words[how] ?? "";
  place("lost").hidden = !how;
  for (const word of ["silent", "lost"]) document.body.classList.toggle(word, how === word);
}

function startName(link) {
  const input = place("name");
  input.value = always.get("name") ?? "";
  input.addEventListener("change", () => { always.set("name", input.value.trim()); link.send({ rename: input.value.trim() }); });
}

const link = new Link(), direct = new DirectStop(link);
direct.addEventListener("change", () => showServer());
link.on("open", () => showServer("", ""));
link.on("heard", () => showServer("", ""));
link.on("silent", () => showServer("silent", ""));
link.on("lost", (why) => showServer("lost", why));
startName(link);
const live = new Live(link);
new Steering(link, direct);
startEvents(link);
const prepare = new Prepare(link), replay = new Replay();
startTheme(() => { live.recolour(); replay.recolour(); });
const show = startTabs({ replay, prepare });
await login();
link.connect();
if (await replay.start()) show("replay");
