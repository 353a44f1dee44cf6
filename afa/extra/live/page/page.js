// The live page: asks the job for what is new twice a second, draws it, and sends changes with the token of its address.
"use strict";
const $ = (id) => document.getElementById(id);
const token = new URLSearchParams(location.hash.slice(1)).get("token");
const KEPT = 1200, EVERY = 500, SVG = "http://www.w3.org/2000/svg";
let next = 0, drawn = "", arcs = [], about = {}, chosen = null, lost = 0, wrong = "", samples = [], marks = [], charts = [];

const CHARTS = [
  { title: "events / s", series: [["rate", "events", "--c1"]] },
  { title: "output / s", series: [["match_rate", "announced", "--c1"], ["withdrawn_rate", "withdrawn", "--c2"]] },
  { title: "withdrawn for each match", series: [["ratio", "ratio", "--c2"]] },
  { title: "punctuation lag", series: [["lag", "behind the latest event", "--c3"]], unit: true },
  { title: "held", series: [["events", "events", "--c1"], ["partial_matches", "partial matches", "--c2"]] },
  { title: "waiting for sigma", series: [["waiting", "matches", "--c3"]] },
];
const TILES = [
  ["rows", "events"], ["rate", "events / s"], ["matches", "matches"], ["withdrawn", "withdrawn"],
  ["ratio", "retraction ratio"], ["lag", "punctuation lag"], ["state", "state held"], ["partial_matches", "partial"],
  ["keys", "keys"], ["late", "late, dropped"], ["faults", "faults"], ["memory", "memory"], ["batch", "batch"],
  ["batch_s", "seconds a batch"], ["sigma", "sigma"],
];

function headers(more) {
  return token ? { Authorization: `Bearer ${token}`, ...more } : { ...more };
}

function shown(value, name) {
  if (value === null || value === undefined) return name === "sigma" ? "none" : "–";
  if (typeof value !== "number") return String(value);
  if (name === "ratio") return value.toFixed(3);
  if (name === "memory") return `${(value / 1e6).toFixed(1)} MB`;
  if ((name === "lag" || name === "sigma") && about.unit === "s") return duration(value);
  const size = Math.abs(value);
  if (size >= 1e9) return `${(value / 1e9).toFixed(2)}G`;
  if (size >= 1e7) return `${(value / 1e6).toFixed(1)}M`;
  return value.toLocaleString("en", { maximumFractionDigits: size < 10 ? 2 : 0 });
}

function clock(s) {
  return new Date(s * 1000).toLocaleTimeString("en-GB");
}

function duration(s) {
  if (s < 1) return `${Math.round(s * 1000)} ms`;
  if (s < 120) return `${s.toFixed(s < 10 ? 1 : 0)} s`;
  if (s < 7200) return `${(s / 60).toFixed(0)} min`;
  return s < 172800 ? `${(s / 3600).toFixed(1)} h` : `${(s / 86400).toFixed(1)} d`;
}

function element(name, text, cls) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (cls) made.className = cls;
  return made;
}

// -- what is shown ------------------------------------------------------------------------------------------------------------

async function look() {
  try {
    const answer = await fetch(`state?since=${next}&drawn=${encodeURIComponent(drawn)}`, { headers: headers() });
    const found = await answer.json();
    if (!answer.ok) throw new Error(found.error);
    lost = 0;
    take(found);
  } catch (error) {
    lost += 1;
    if (lost > 1) {
      status("lost", "not reached");
      banner(error instanceof TypeError ? "The job does not answer: it has ended, or can't be reached." : error.message);
    }
  }
  setTimeout(look, Math.min(EVERY * (1 + lost), 5000));
}

function take(found) {
  if (next > found.next) samples = [], marks = [], $("changes").replaceChildren(), $("notes").replaceChildren();
  next = found.next;
  if (found.about) tell(found.about);
  if (found.picture) draw(found.picture);
  samples.push(...found.samples);
  samples.splice(0, samples.length - KEPT);
  status(found.status, found.status);
  const fault = found.notes.filter((note) => note.kind === "fault").pop();
  if (fault && found.status === "failed") wrong = fault.text;
  banner(found.status === "failed" ? `Nothing of the last rows was taken: ${wrong}` : "");
  output(found.changes);
  notes(found.notes);
  const last = samples[samples.length - 1];
  if (last && found.samples.length) {
    tiles(last);
    counts(last.by_state || {});
    plot();
  }
}

function banner(text) {
  $("banner").hidden = !text;
  $("banner").textContent = text;
}

function status(cls, text) {
  $("status").className = `pill ${cls}`;
  $("status").textContent = text;
  $("pause").textContent = { paused: "Play", failed: "Try again" }[text] || "Pause";
}

function tell(told) {
  const first = !about.title;
  about = told;
  $("title").textContent = told.title;
  document.title = `${told.title} · afa`;
  $("where").textContent = told.where || "";
  $("log").textContent = told.log ? `Changes of ${told.controls.includes("rules") ? "rules are written to the log" : "arcs are written to the arc log"} ${told.log}` : "";
  $("play").hidden = !told.controls.includes("speed");
  for (const part of document.querySelectorAll("[data-control]")) part.hidden = !told.controls.includes(part.dataset.control);
  $("automaton").hidden = told.controls.includes("rules");
  rules(told.rules || []);
  $("fields").disabled = !token;
  for (const one of $("play").querySelectorAll("button,input")) one.disabled = !token;
  $("read-only").hidden = Boolean(token);
  $("hints").textContent = Object.entries(told.hints || {}).map(([name, text]) => `${name}: ${text}`).join("\n");
  fresh($("query"), told.query || "");
  constants(told.constants || []);
  fresh($("sigma"), told.sigma === null || told.sigma === undefined ? "" : String(told.sigma));
  fresh($("speed"), told.speed || "");
  if (told.at) for (const id of ["arc-at", "new-at", "query-at"]) fresh($(id), told.at);
  $("output").hidden = told.output === false;
  if (first) chart();
}

function rules(found) {
  const made = JSON.stringify(found);
  if ($("rule-list").dataset.made === made) return;
  $("rule-list").dataset.made = made;
  $("rule-list").replaceChildren(...found.map((rule) => {
    const line = element("tr"), life = rule.until ? `${rule.from} to ${rule.until}` : `from ${rule.from} on`;
    const state = rule.why ? `${rule.state}: ${rule.why}` : rule.state;
    line.dataset.rule = rule.name;
    line.dataset.state = rule.state;
    for (const what of [rule.name, state, life, shown(rule.matches), shown(rule.rate), shown(rule.partial_matches), rule.cost == null ? "" : `${Math.round(100 * rule.cost)} %`]) line.append(element("td", what));
    line.addEventListener("click", () => { $("rule-name").value = rule.name; $("rule-text").value = rule.text || ""; });
    return line;
  }));
}

function fresh(field, text) {  // what the user has begun to write stays
  if (document.activeElement === field || (field.dataset.was !== undefined && field.value !== field.dataset.was)) return;
  field.value = text;
  field.dataset.was = text;
}

function constants(found) {
  const made = JSON.stringify(found);
  if ($("constant").dataset.made === made) return;
  $("constant").dataset.made = made;
  $("constant").replaceChildren(...found.map((one, i) => {
    const option = element("option", `${one.written} in ${one.around}`);
    option.value = i;
    return option;
  }));
  $("tried").replaceChildren();
  suggest();
}

function suggest() {  // values around the one of the query
  const one = (about.constants || [])[$("constant").value];
  if (!one) return;
  const now = Number(one.written.replaceAll("_", "")), tenth = Math.abs(now) / 10;
  const step = Number.isInteger(now) ? Math.max(1, Math.round(tenth)) : tenth;
  $("values").value = [-2, -1, 0, 1, 2].map((n) => Number((now + n * step).toPrecision(6))).join(", ");
}

function tried(rows, query, one) {
  const most = Math.max(1, ...rows.map((row) => row.matches)), signs = Array.from(query);
  $("tried").replaceChildren(...rows.map((row, i) => {
    const line = element("tr"), bar = element("i"), use = element("button", "Use it"), cells = [row.written, shown(row.matches), bar, i ? use : "as it is"];
    bar.style.width = `${100 * row.matches / most}%`;
    use.type = "button";
    use.addEventListener("click", () => {
      $("query").value = [...signs.slice(0, one.start), row.written, ...signs.slice(one.end)].join("");
      $("query-part").open = true;
      $("query").focus();
    });
    for (const what of cells) {
      const cell = element("td");
      cell.append(what);
      line.append(cell);
    }
    return line;
  }));
}

function draw(picture) {
  drawn = picture.version;
  arcs = picture.arcs;
  $("drawing").innerHTML = picture.svg;  // ours: all text in it is escaped, and no script of a page runs (CSP)
  for (const arc of $("drawing").querySelectorAll(".arc")) arc.addEventListener("click", () => choose(Number(arc.dataset.index)));
  const names = arcs.map((arc, i) => {
    const option = element("option", `${arc.src} → ${arc.dst}${arc.label || arc.name ? `: ${arc.label || arc.name}` : ""}${arc.life ? ` ${arc.life}` : ""}`);
    option.value = i;
    option.disabled = !arc.name;
    return option;
  });
  $("arc").replaceChildren(...names);
  const states = [...$("drawing").querySelectorAll(".state")].map((state) => state.dataset.state);
  $("states").replaceChildren(...states.map((name) => { const option = element("option"); option.value = name; return option; }));
  const same = arcs.findIndex((arc) => arc.name && arc.name === (chosen && chosen.name));
  choose(same >= 0 ? same : arcs.findIndex((arc) => arc.name));
  const last = samples[samples.length - 1];
  if (last) counts(last.by_state || {});
}

function choose(index) {
  for (const arc of $("drawing").querySelectorAll(".arc")) arc.classList.toggle("chosen", Number(arc.dataset.index) === index);
  const arc = arcs[index];
  if (!arc) return;
  const changed = !chosen || chosen.name !== arc.name || chosen.fence !== arc.fence || chosen.transfer !== arc.transfer;
  chosen = arc;
  $("arc").value = index;
  for (const id of ["swap", "end"]) $(id).disabled = !arc.name;
  $("fence").disabled = arc.kind === "time-out";
  $("transfer").disabled = arc.kind === "time-out";
  if (changed) $("fence").value = arc.fence, $("transfer").value = arc.transfer;
}

function counts(held) {
  const most = Math.max(1, ...Object.values(held));
  for (const state of $("drawing").querySelectorAll(".state")) {
    const n = Object.hasOwn(held, state.dataset.state) ? held[state.dataset.state] : 0, box = state.querySelector("rect");
    const share = n ? Math.round(20 + 70 * Math.log1p(n) / Math.log1p(most)) : 0;
    box.style.fill = n ? `color-mix(in srgb, var(--heat) ${share}%, var(--card))` : "";
    let badge = state.querySelector(".count");
    if (!badge) {
      badge = document.createElementNS(SVG, "g");
      badge.setAttribute("class", "count");
      badge.append(document.createElementNS(SVG, "rect"), document.createElementNS(SVG, "text"));
      state.append(badge);
    }
    state.dataset.held = n;
    badge.style.display = n ? "" : "none";
    const text = shown(n), width = 10 + 6.5 * text.length, [rect, label] = badge.children;
    const right = Number(box.getAttribute("x")) + Number(box.getAttribute("width")) + 6, top = Number(box.getAttribute("y")) - 9;
    for (const [name, value] of [["x", right - width], ["y", top], ["width", width], ["height", 16], ["rx", 8]]) rect.setAttribute(name, value);
    label.setAttribute("x", right - width / 2);
    label.setAttribute("y", top + 12);
    label.textContent = text;
  }
}

function tiles(last) {
  const there = TILES.filter(([name]) => last[name] !== undefined && !(name === "sigma" && !about.controls.includes("sigma")));
  const box = $("tiles");
  for (const [name, title] of there) {
    let tile = box.querySelector(`[data-number="${name}"]`);
    if (!tile) {
      tile = element("div", undefined, "tile");
      tile.dataset.number = name;
      tile.append(element("b"), element("span", title));
      box.append(tile);
    }
    tile.firstChild.textContent = shown(last[name], name);
    tile.dataset.value = last[name];
  }
}

function output(rows) {
  const body = $("changes");
  for (const row of rows) {
    const line = element("tr", undefined, row.diff > 0 ? "plus" : "minus");
    const payload = Object.entries(row.payload || {}).map(([name, value]) => `${name}=${value}`).join(" ");
    line.append(element("td", row.diff > 0 ? "+" : "−"), element("td", `[${row.le}, ${row.re})`), element("td", payload));
    body.prepend(line);
  }
  while (body.children.length > 200) body.lastChild.remove();
}

function notes(said) {
  const list = $("notes");
  for (const note of said) {
    const line = element("li", undefined, note.kind);
    line.append(element("time", new Date(note.at * 1000).toLocaleTimeString("en-GB")), note.text);
    list.prepend(line);
    if (note.kind === "done") marks.push(note.at);
  }
  while (list.children.length > 100) list.lastChild.remove();
  if (!list.children.length) list.append(element("li", "nothing yet", "none"));
  else if (said.length) list.querySelector(".none")?.remove();
}

// -- charts -------------------------------------------------------------------------------------------------------------------

function chart() {
  for (const one of charts) one.plot.destroy();
  $("charts").replaceChildren();
  const css = getComputedStyle(document.documentElement), color = (name) => css.getPropertyValue(name).trim();
  const axis = { stroke: color("--dim"), grid: { stroke: color("--grid"), width: 1 }, ticks: { show: false }, font: "11px sans-serif" };
  charts = CHARTS.map((told) => {
    const box = element("div", undefined, "chart"), head = element("h3", told.title), at = element("div");
    const values = told.series.map(([, title, tint]) => {
      const one = element("i", title);
      one.style.setProperty("--dot", `var(${tint})`);
      head.append(one);
      return one;
    });
    box.append(head, at);
    $("charts").append(box);
    const value = (v) => told.unit && about.unit === "s" ? duration(v) : shown(v);
    const plot = new uPlot({
      width: 260, height: 120, legend: { show: false }, cursor: { y: false, points: { size: 5 } },
      scales: { y: { range: (_, low, high) => [0, Math.max(high || 0, told.title.startsWith("withdrawn") ? 0.01 : 1) * 1.1] } },
      padding: [8, 22, 0, 0],
      axes: [{ ...axis, size: 24, space: 70, values: (_, ticks) => ticks.map(clock) }, { ...axis, size: 48, space: 28, values: (_, ticks) => ticks.map(value) }],
      series: [{}, ...told.series.map(([, , tint]) => ({ stroke: color(tint), width: 1.6, points: { show: false }, spanGaps: false }))],
      hooks: { draw: [(u) => lines(u, color("--mark"))] },
    }, [[], ...told.series.map(() => [])], at);
    return { box, plot, told, values, value };
  });
  fit();
  plot();
}

function lines(u, color) {
  const { ctx, bbox } = u;
  ctx.save();
  ctx.strokeStyle = color;
  ctx.setLineDash([4, 3]);
  for (const at of marks) {
    const x = u.valToPos(at, "x", true);
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
  }
  ctx.restore();
}

function plot() {
  const times = samples.map((sample) => sample.at), last = samples[samples.length - 1];
  for (const { box, plot, told, values, value } of charts) {
    const columns = told.series.map(([name]) => samples.map((sample) => sample[name] ?? null));
    box.hidden = !columns.some((column) => column.some((v) => v !== null));
    if (box.hidden) continue;
    plot.setData([times, ...columns]);
    told.series.forEach(([name, title], i) => { values[i].textContent = `${title} ${last ? (last[name] == null ? "–" : value(last[name])) : ""}`; });
  }
}

function fit() {
  for (const { box, plot } of charts) {
    const width = Math.floor(box.clientWidth - 24);
    if (width > 50 && width !== plot.width) plot.setSize({ width, height: 120 });
  }
}

new ResizeObserver(fit).observe($("charts"));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", chart);

// -- changes ------------------------------------------------------------------------------------------------------------------

async function change(data) {
  const box = $("answer");
  try {
    const answer = await fetch("change", { method: "POST", headers: headers({ "Content-Type": "application/json" }), body: JSON.stringify(data) });
    const found = await answer.json();
    box.className = answer.ok ? "" : "fault";
    box.textContent = answer.ok ? found.said : found.error;
    box.hidden = false;
    return answer.ok && found;
  } catch (error) {
    box.className = "fault";
    box.textContent = `The job does not answer: ${error.message}`;
    box.hidden = false;
    return false;
  }
}

function on(id, data, done) {
  $(id).addEventListener("submit", async (event) => {
    event.preventDefault();
    if (await change(data()) && done) done();
  });
}

on("arc-form", () => ({
  do: "swap", name: chosen && chosen.name, at: $("arc-at").value,
  fence: $("fence").value === chosen.fence ? null : $("fence").value,
  transfer: $("transfer").value === chosen.transfer ? null : $("transfer").value,
}));
$("try-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const query = about.query, place = Number($("constant").value), one = about.constants[place];
  $("try").disabled = true;
  const found = await change({ do: "try", constant: place, written: one.written, values: $("values").value });
  $("try").disabled = false;
  if (found) tried(found.tried, query, one);
});
$("constant").addEventListener("change", suggest);
$("end").addEventListener("click", () => change({ do: "end", name: chosen && chosen.name, at: $("arc-at").value }));
on("insert-form", () => {
  const kind = $("new-kind").value, function_ = $("new-fence").value, arc = { name: $("new-name").value, kind, src: $("new-src").value, dst: $("new-dst").value };
  if (kind === "timeout") arc.at = function_; else arc.fence = function_, arc.transfer = $("new-transfer").value;
  return { do: "insert", arc, at: $("new-at").value };
}, () => { for (const id of ["new-name", "new-fence", "new-transfer"]) $(id).value = ""; });
on("query-form", () => ({ do: "query", text: $("query").value, at: $("query-at").value }), () => { $("query").dataset.was = $("query").value; });
const rule = (op) => ({ do: "rule", op, name: $("rule-name").value, text: op === "remove" ? null : $("rule-text").value, at: $("rule-at").value });
on("rule-form", () => rule("add"));
$("rule-replace").addEventListener("click", () => change(rule("replace")));
$("rule-remove").addEventListener("click", () => change(rule("remove")));
on("sigma-form", () => ({ do: "sigma", value: $("sigma").value }), () => { $("sigma").dataset.was = $("sigma").value; });
on("speed-form", () => ({ do: "speed", value: $("speed").value }), () => { $("speed").dataset.was = $("speed").value; });
$("pause").addEventListener("click", () => change({ do: "speed", value: $("pause").textContent === "Pause" ? "pause" : "play" }));
$("arc").addEventListener("change", () => choose(Number($("arc").value)));
$("new-kind").addEventListener("change", () => { $("new-fence-label").textContent = $("new-kind").value === "timeout" ? "at" : "fence"; });
look();
