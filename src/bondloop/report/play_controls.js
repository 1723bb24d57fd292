// Sliders, buttons and menus of the page, and what it offers to a console.

// A slider runs from 0 to 1000; positive ends are far apart in size, so it moves by factors between them.
function slider(parameter, index) {
  const [least, most] = parameter.ends;
  const byFactors = least > 0;
  const value = (place) => (byFactors ? least * (most / least) ** (place / 1000) : least + ((most - least) * place) / 1000);
  const place = (v) => Math.round(1000 * (byFactors ? Math.log(v / least) / Math.log(most / least) : (v - least) / (most - least)));
  const box = document.createElement("div");
  box.className = "slider";
  const label = document.createElement("label");
  const output = document.createElement("output");
  const input = document.createElement("input");
  const id = `slider-${index}`;
  Object.assign(input, { type: "range", min: 0, max: 1000, step: 1, id, value: place(tick.values[index]) });
  label.htmlFor = id;
  label.textContent = parameter.name;
  const tell = () => {
    output.textContent = shown(tick.values[index], parameter.unit);
    input.setAttribute("aria-valuetext", output.textContent);
  };
  input.addEventListener("input", () => {
    tick.values[index] = value(Number(input.value));
    tell();
  });
  const back = document.createElement("button");
  back.type = "button";
  back.textContent = "back";
  back.title = `back to ${shown(parameter.value, parameter.unit)}`;
  back.setAttribute("aria-label", `${parameter.name} ${back.title}`);
  back.addEventListener("click", () => {
    tick.values[index] = parameter.value;
    input.value = place(parameter.value);
    tell();
  });
  const told = document.createElement("span");
  told.append(output, " ", back);
  box.append(label, told, input);
  tell();
  return box;
}

function sliders() {
  byId("sliders").replaceChildren(
    ...tick.about.parameters.flatMap((p, i) => (p.ends ? [slider(p, i)] : [])));
}

byId("title").textContent = data.name.replaceAll("_", " ");
byId("go").addEventListener("click", () => {
  if (tick.status || tick.count >= tick.about.steps) restart();
  else running = !running;
});
byId("again").addEventListener("click", restart);
document.addEventListener("keydown", (event) => {
  if (event.target.closest("input, select, button")) return;
  if (event.key === " ") {
    event.preventDefault();
    byId("go").click();
  }
  if (event.key === "r") restart();
});
if (tick.about.pairs.length > 1) {
  byId("pairs").hidden = false;
  tick.about.pairs.forEach((_, i) => byId("pair").append(new Option(`${i + 1}`, `${i}`)));
}
if (ticks.size > 1) {
  byId("variants").hidden = false;
  for (const name of ticks.keys()) byId("variant").append(new Option(name, name));
  byId("variant").addEventListener("change", (event) => {
    tick = ticks.get(event.target.value);
    recent = new Recent(tick, WINDOW);
    pair = Math.min(pair, tick.about.pairs.length - 1);
    restart();
    sliders();
  });
}
byId("speed").addEventListener("change", (event) => { speed = Number(event.target.value); });
byId("pair").addEventListener("change", (event) => { pair = Number(event.target.value); });
window.addEventListener("resize", resize);
new ResizeObserver(resize).observe(document.body);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", readColours);
readColours();
resize();
sliders();
requestAnimationFrame(step);

// For whoever wants numbers: the whole test from its beginning, as arrays by the channel's name; how many frames
// were drawn, and the milliseconds that they took.
window.bondloop = {
  rehearse(steps, variant) {
    const own = new Tick((ticks.get(variant) || tick).about);
    const { channels } = own.about;
    const columns = channels.map(() => []);
    while (own.count < steps) {
      const done = own.advance(steps - own.count);
      if (!done) break;
      for (let i = 0; i < done; i++) columns.forEach((column, j) => column.push(own.rows[i * channels.length + j]));
    }
    return { columns: Object.fromEntries(channels.map((c, j) => [c.name, columns[j]])), status: own.status };
  },
  get frames() {
    return frames;
  },
  get work() {
    return { ...work };
  },
};
