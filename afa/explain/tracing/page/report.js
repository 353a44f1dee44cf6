"use strict";
// The page of a run. Data: afa/explain/tracing/page_data.py. Times are offsets from data.time.base; null: forever.
(() => {
const data = JSON.parse(document.getElementById("data").textContent);
const { events, matches, counts, promises } = data;
const time = data.time, N = events.le.length, SINGLE = 6000, LABELS = 40, LISTED = 300, MARKS = 3000;
const $ = (id) => document.getElementById(id);
const number = (n) => n.toLocaleString("en-US");

// -- times -------------------------------------------------------------------------------------------------------------------

const base = BigInt(time.base);
const floorDiv = (a, b) => (a >= 0n ? a / b : -((-a + b - 1n) / b));

let zoned = null;  // a zone whose offset changes over the year
if (time.ms !== null && time.zone.includes("/")) {
  try {
    const parts = { year: "numeric", month: "numeric", day: "numeric", hour: "numeric", minute: "numeric", second: "numeric" };
    zoned = new Intl.DateTimeFormat("en-US", { ...parts, timeZone: time.zone, hourCycle: "h23" });
  } catch (error) { zoned = null; }
}

function ahead(ms) {
  if (!zoned) return time.ahead;
  const at = Object.fromEntries(zoned.formatToParts(new Date(ms)).map((part) => [part.type, +part.value]));
  return Date.UTC(at.year, at.month - 1, at.day, at.hour, at.minute, at.second) - Math.floor(ms / 1000) * 1000;
}

function said(offset, near) {
  if (near !== undefined && time.ms !== null && offset !== null) {
    const text = said(offset), day = said(near).slice(0, 11);
    return text.startsWith(day) ? text.slice(11) : text;
  }
  if (offset === null) return "forever";
  const ticks = base + BigInt(Math.round(offset));
  if (time.ms === null) return ticks.toString();
  let seconds, fraction = "";
  if (time.ms < 1000) {
    const per = BigInt(Math.round(1000 / time.ms));
    seconds = floorDiv(ticks, per);
    const rest = ticks - seconds * per;
    if (rest) fraction = "." + rest.toString().padStart(per.toString().length - 1, "0").replace(/0+$/, "");
  } else seconds = ticks * BigInt(Math.round(time.ms / 1000));
  const date = new Date(Number(seconds) * 1000 + ahead(Number(seconds) * 1000));
  return isNaN(date) ? ticks.toString() : date.toISOString().slice(0, 19).replace("T", " ") + fraction;
}

function lasted(ticks) {
  if (time.ms === null) return number(ticks) + (ticks === 1 ? " tick" : " ticks");
  let s = (ticks * time.ms) / 1000;
  if (s < 60) return `${+s.toPrecision(3)} s`;
  const parts = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]], found = [];
  for (const [unit, size] of parts) {
    const n = Math.floor(s / size);
    if (n && found.length < 2) found.push(`${n} ${unit}`);
    s -= n * size;
  }
  return found.join(" ");
}

// -- what is known of each event and match -----------------------------------------------------------------------------------

const behind = new Array(N).fill(0);  // how far behind the largest LE before it an event came
{
  let frontier = -Infinity;
  let m = 0;
  const turns = matches.flatMap((match) => [[match.at, match, 0], ...(match.gone === null ? [] : [[match.gone, match, 1]])]).sort((a, b) => a[0] - b[0]);
  for (const match of matches) match.behind = [0, 0];  // at its announcement, at its withdrawal
  const turn = (until) => {
    for (; m < turns.length && turns[m][0] < until; m++) turns[m][1].behind[turns[m][2]] = Math.max(0, frontier - turns[m][1].le);
  };
  for (let i = 0; i < events.kept; i++) {
    turn(events.arrival[i]);
    behind[i] = Math.max(0, frontier - events.le[i]);
    frontier = Math.max(frontier, events.le[i]);
  }
  turn(Infinity);
}
const down = (i) => (state.down === "late" && events.arrival[i] !== null ? behind[i] : events.arrival[i]);
const downOf = (match, gone) => (state.down === "late" ? match.behind[gone ? 1 : 0] : gone ? match.gone : match.at);
matches.forEach((match, i) => {
  match.i = i;
  match.status = match.gone !== null ? "withdrawn" : data.ended || (data.final !== null && match.le < data.final) ? "final" : "in force";
});
const eventText = (i) => events.texts[events.text[i]];
const ofEvent = new Map();  // matches by event: by their events, and by the change that withdrew them
for (const match of matches) {
  const own = match.path.map(([, event]) => event);
  if (match.whyGone && match.whyGone.event !== null) own.push(match.whyGone.event);
  for (const event of own) {
    if (!ofEvent.has(event)) ofEvent.set(event, []);
    ofEvent.get(event).push(match);
  }
}

const state = { match: null, key: null, filter: "all", search: "", down: "arrival" };
const lows = [...events.le, ...matches.map((m) => m.le)];
let least = 0, largest = 1;
if (lows.length) { least = Infinity; largest = -Infinity; for (const t of lows) { if (t < least) least = t; if (t > largest) largest = t; } }
let last = 1;
for (const column of [events.arrival.filter((a) => a !== null), promises.map((p) => p.arrival), data.arcs.map((a) => a.arrival)]) for (const a of column) if (a > last) last = a;
const pad = (largest - least) * 0.03 || 1;
let latest = 1;
for (const b of behind) if (b > latest) latest = b;
for (const match of matches) latest = Math.max(latest, ...match.behind);
function whole() {
  const most = state.down === "late" ? latest : last;
  return { x0: least - pad, x1: largest + pad, y0: -0.05 * most - (state.down === "late" ? 0 : 0.5), y1: most * 1.04 + (state.down === "late" ? 0 : 0.5) };
}
if (counts.events > 5000 && latest < (largest - least) / 50) state.down = "late";  // where arrival would show a line
let view = whole();

// -- canvases ----------------------------------------------------------------------------------------------------------------

const arrivals = $("arrivals"), lanes = $("lanes");
const edge = { left: 78, right: 12, top: 10, bottom: 26 };
let colours = {};
function readColours() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ["paper", "ink", "dim", "rule", "grid", "event", "late", "retracted", "match", "gone", "promise", "promised", "chosen", "shade", "panel"])
    colours[name] = style.getPropertyValue("--" + name).trim();
}

function sized(canvas) {
  const ratio = window.devicePixelRatio || 1, box = canvas.getBoundingClientRect();
  const width = Math.max(box.width - 2, 50), height = Math.max(box.height - 2, 50);
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const g = canvas.getContext("2d");
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  g.clearRect(0, 0, width, height);
  g.font = "12px system-ui, 'Segoe UI', Arial, sans-serif";
  g.textBaseline = "middle";
  return { g, width, height };
}

const zoom = d3.zoom().scaleExtent([1, 1e9]).on("zoom", () => schedule());
d3.select(arrivals).call(zoom).on("dblclick.zoom", null);
const transform = () => d3.zoomTransform(arrivals);

function scales(width, height) {
  const t = transform();
  const x = t.rescaleX(d3.scaleLinear([view.x0, view.x1], [edge.left, width - edge.right]));
  const y = t.rescaleY(d3.scaleLinear([view.y0, view.y1], [edge.top, height - edge.bottom]));
  return { x, y };
}

function timeTicks(x, width) {
  const n = Math.max(2, Math.floor((width - edge.left) / 120)), [a, b] = x.domain();
  if (time.ms === null) {
    const ticks = x.ticks(n).filter((t) => Number.isInteger(t));
    const shift = Number(base);
    if (!Number.isSafeInteger(shift)) return ticks.map((t) => [x(t), (base + BigInt(t)).toString()]);
    return d3.scaleLinear([a + shift, b + shift], x.range()).ticks(n).filter(Number.isInteger).map((t) => [x(t - shift), number(t)]);
  }
  const shift = ahead(time.baseMs + a * time.ms), ms = (t) => new Date(time.baseMs + t * time.ms + shift);
  const utc = d3.scaleUtc([ms(a), ms(b)], x.range());
  return utc.ticks(n).map((t) => [utc(t), tickText(new Date(+t - shift + ahead(+t - shift)))]);
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
function tickText(t) {
  const text = t.toISOString();
  if (+t % 86400000 === 0) return t.getUTCDate() === 1 && t.getUTCMonth() === 0 ? text.slice(0, 4) : `${t.getUTCDate()} ${MONTHS[t.getUTCMonth()]}`;
  return +t % 1000 ? text.slice(11, 23) : +t % 60000 ? text.slice(11, 19) : text.slice(11, 16);
}

const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800].map((s) => s * 1000);
function lateTicks(most, n) {
  const size = time.ms === null ? 1 : time.ms, step = STEPS.find((s) => (most * size) / s <= n);
  if (time.ms === null || !step || most * size < n * 1000) return d3.scaleLinear([0, most], [0, 1]).ticks(n).filter((t) => time.ms !== null || Number.isInteger(t));
  return Array.from({ length: Math.floor((most * size) / step) + 1 }, (_, i) => (i * step) / size);
}

function axes(g, width, height, x, y) {
  g.strokeStyle = colours.grid;
  g.fillStyle = colours.dim;
  g.lineWidth = 1;
  g.textAlign = "center";
  let until = -Infinity;
  for (const [at, text] of timeTicks(x, width)) {
    line(g, at, edge.top, at, height - edge.bottom);
    const w = g.measureText(text).width;
    if (at - w / 2 > until + 8 && at + w / 2 < width) {
      g.fillText(text, at, height - edge.bottom + 13);
      until = at + w / 2;
    }
  }
  if (!y) return;
  g.textAlign = "right";
  const late = state.down === "late", some = Math.max(2, Math.floor(height / 60));
  const [d0, d1] = y.domain(), arrived = d3.scaleLinear([d0 + 1, d1 + 1], y.range());
  const rows = late ? lateTicks(d1, some).filter((t) => t >= d0).map((t) => [y(t), t ? lasted(t) : "0"])
    : arrived.ticks(some).filter((t) => Number.isInteger(t) && t >= 1).map((t) => [arrived(t), `#${number(t)}`]);
  for (const [at, text] of rows) {
    line(g, edge.left, at, width - edge.right, at);
    g.fillText(text.replace(" ticks", "").replace(" tick", ""), edge.left - 8, at);
  }
}

function line(g, a, b, c, d) {
  g.beginPath();
  g.moveTo(a, b);
  g.lineTo(c, d);
  g.stroke();
}

function clip(g, width, height) {
  g.save();
  g.beginPath();
  g.rect(edge.left, edge.top, width - edge.left - edge.right, height - edge.top - edge.bottom);
  g.clip();
}

// -- labels that do not overlap ----------------------------------------------------------------------------------------------

function labels(g, width, height) {
  const taken = [];
  const free = (r) => r[0] >= edge.left && r[2] <= width - 2 && r[1] >= 2 && r[3] <= height - edge.bottom + 2 &&
    taken.every((o) => r[0] >= o[2] || r[2] <= o[0] || r[1] >= o[3] || r[3] <= o[1]);
  return {
    taken, written: [], hidden: 0,
    keep(x, y, r) { taken.push([x - r, y - r, x + r, y + r]); },
    put(text, x, y, colour, bold) {
      text = text.length > 48 ? text.slice(0, 46) + " .." : text;
      g.font = `${bold ? "600 " : ""}12px system-ui, 'Segoe UI', Arial, sans-serif`;
      const w = g.measureText(text).width;
      for (const [left, top] of [[x + 6, y - 21], [x + 11, y - 8], [x - 6 - w, y - 21], [x - 11 - w, y - 8], [x + 6, y + 6], [x - 6 - w, y + 6], [x - w / 2, y - 26], [x - w / 2, y + 11]]) {
        const r = [left - 2, top, left + w + 2, top + 16];
        if (!free(r)) continue;
        taken.push(r);
        this.written.push([text, ...r.map(Math.round)]);
        g.fillStyle = colour;
        g.textAlign = "left";
        g.strokeStyle = colours.paper;
        g.lineWidth = 4;
        g.lineJoin = "round";
        g.strokeText(text, left, top + 8.5);
        g.fillText(text, left, top + 8.5);
        return true;
      }
      this.hidden++;
      return false;
    },
  };
}

// -- the picture of arrivals -------------------------------------------------------------------------------------------------

let pending = false;
function schedule() {
  if (pending) return;
  pending = true;
  requestAnimationFrame(() => { pending = false; draw(); });
}

const dimmed = (key) => state.key !== null && key !== state.key;

function inView(x, y) {
  const [x0, x1] = x.domain(), [y0, y1] = y.domain(), found = [];
  for (let i = 0; i < N; i++) {
    const t = events.le[i], a = events.arrival[i] === null ? null : down(i);
    if (a !== null && t >= x0 && t <= x1 && a >= y0 && a <= y1 && !dimmed(events.key[i])) found.push(i);
  }
  return found;
}

function draw() {
  const began = performance.now();
  readColours();
  const { g, width, height } = sized(arrivals), { x, y } = scales(width, height);
  axes(g, width, height, x, y);
  clip(g, width, height);
  if (state.down === "arrival") {
    drawPromises(g, width, height, x, y);
    drawArcs(g, width, y);
    drawFrontier(g, x, y);
  }
  const shown = inView(x, y), single = shown.length <= SINGLE;
  const few = shown.length <= 400;  // so that both are seen where an event and its match stand at one place
  let marks = few ? drawMatches(g, x, y) : 0;
  if (single) drawSingle(g, shown, x, y);
  else drawDensity(g, shown, x, y, width, height);
  if (!few) marks = drawMatches(g, x, y);
  g.restore();
  const names = labels(g, width, height);
  clip(g, width, height);
  drawChosen(g, x, y, width);
  g.restore();
  drawLabels(g, names, shown, x, y, width);
  const spans = drawLanes(x);
  tell(shown.length, single, marks, names.hidden);
  $("axes").textContent = `Across: when it happened${time.zone ? ` (${time.zone})` : ""}. Down: ${state.down === "late" ? "how far behind the latest so far it came, or when a match was announced" : "when it arrived; the promises so far are shaded"}.`.replace(promises.length ? "" : "; the promises so far are shaded", "");
  Object.assign(arrivals.dataset, { events: shown.length, single, matches: marks, milliseconds: Math.round(performance.now() - began) });
  arrivals.dataset.labels = JSON.stringify(names.written);
  lanes.dataset.spans = spans;
  document.body.dataset.ready = "true";
}

function tell(n, single, marks, hidden) {
  const parts = [`${number(n)} of ${number(counts.events)} events shown` + (single ? "" : ", as density: zoom in to see each of them")];
  if (counts.events > counts.shown) parts.push(`the first ${number(counts.shown)} events are on this page`);
  parts.push(`${number(marks)} of ${number(counts.announced)} announced matches`);
  if (counts.announced > counts.kept) parts.push(`the first ${number(counts.kept)} announcements are on this page`);
  if (state.key !== null) parts.push("of one key");
  if (hidden) parts.push(`${number(hidden)} labels hidden`);
  $("shown").textContent = parts.join("; ") + ".";
}

function drawPromises(g, width, height, x, y) {
  for (let i = 0; i < promises.length; i++) {
    const p = promises[i], next = promises[i + 1];
    const top = y(p.arrival), bottom = next ? y(next.arrival) : y(last + 1), right = p.t === null ? width : x(p.t);
    g.fillStyle = colours.promised;
    g.fillRect(edge.left, top, right - edge.left, bottom - top);
    g.strokeStyle = colours.promise;
    g.lineWidth = 1.5;
    line(g, right, top, right, bottom);
    if (p.cover !== null && promises.length <= 200) {
      const cx = x(events.le[p.cover]), cy = y(events.arrival[p.cover]);
      g.strokeRect(cx - 6, cy - 6, 12, 12);
    }
  }
}

function drawArcs(g, width, y) {
  g.strokeStyle = colours.ink;
  g.lineWidth = 1;
  g.setLineDash([8, 4]);
  for (const arc of data.arcs) line(g, edge.left, y(arc.arrival), width - edge.right, y(arc.arrival));
  g.setLineDash([]);
}

function drawFrontier(g, x, y) {
  g.strokeStyle = colours.rule;
  g.lineWidth = 1.5;
  g.beginPath();
  let frontier = -Infinity, drawn = -Infinity;
  for (let i = 0; i < events.kept; i++) {
    if (events.le[i] <= frontier) continue;
    const py = y(events.arrival[i]);
    if (frontier === -Infinity) g.moveTo(x(events.le[i]), py);
    else if (py - drawn > 0.7 || i === events.kept - 1) {
      g.lineTo(x(frontier), py);
      g.lineTo(x(events.le[i]), py);
      drawn = py;
    }
    frontier = events.le[i];
  }
  if (events.kept) g.lineTo(x(frontier), y(last + 1));
  g.stroke();
}

const kindOf = (i) => (events.diff[i] < 0 ? "retracted" : behind[i] ? "late" : "event");

const foreign = (i) => data.keyed && state.match !== null && events.key[i] !== state.match.key;  // not of the selected match's key

function drawSingle(g, shown, x, y) {
  const r = shown.length < 400 ? 4 : 2.2;
  for (const i of shown) {
    const px = x(events.le[i]), py = y(down(i)), kind = kindOf(i);
    const other = foreign(i);
    g.globalAlpha = other ? 0.3 : 1;
    g.fillStyle = g.strokeStyle = colours[kind];
    g.lineWidth = 1.5;
    if (events.diff[i] < 0) {
      line(g, px - r, py - r, px + r, py + r);
      line(g, px - r, py + r, px + r, py - r);
    } else {
      if (shown.length <= LABELS && state.down === "arrival") {
        const end = events.re[i] === null ? 1e6 : x(events.re[i]);
        g.globalAlpha = other ? 0.12 : 0.35;
        line(g, px, py, end, py);
        line(g, end, py - 4, end, py + 4);
        g.globalAlpha = other ? 0.3 : 1;
      }
      g.beginPath();
      g.arc(px, py, r, 0, 7);
      if (events.late[i]) g.stroke();
      else g.fill();
    }
  }
  g.globalAlpha = 1;
}

function drawDensity(g, shown, x, y, width, height) {
  const size = 3, across = Math.ceil(width / size), rows = Math.ceil(height / size);
  for (const kind of ["event", "retracted", "late"]) {
    const cells = new Uint32Array(across * rows);
    let most = 0;
    for (const i of shown) {
      if (kindOf(i) !== kind) continue;
      const cell = Math.floor(y(down(i)) / size) * across + Math.floor(x(events.le[i]) / size);
      if (++cells[cell] > most) most = cells[cell];
    }
    g.fillStyle = colours[kind];
    for (let cell = 0; cell < cells.length; cell++) {
      if (!cells[cell]) continue;
      g.globalAlpha = 0.35 + (0.65 * Math.log1p(cells[cell])) / Math.log1p(most);
      g.fillRect((cell % across) * size, Math.floor(cell / across) * size, size, size);
    }
  }
  g.globalAlpha = 1;
}

function drawMatches(g, x, y) {
  const [x0, x1] = x.domain(), [y0, y1] = y.domain(), there = [];
  for (const match of matches) {
    const from = downOf(match, false), until = match.gone === null ? from : downOf(match, true);
    if (match.le >= x0 && match.le <= x1 && until >= y0 && from <= y1 && !dimmed(match.key)) there.push(match);
  }
  const few = there.length <= MARKS, size = there.length < 300 ? 7 : there.length < 1200 ? 4 : 2;
  for (const match of there) {
    const px = x(match.le), py = y(downOf(match, false)), gone = match.gone !== null, r = gone && few ? Math.max(size, 4) : size;
    g.fillStyle = g.strokeStyle = gone ? colours.gone : colours.match;
    if (gone && few) {
      g.lineWidth = 1;
      const end = y(downOf(match, true));
      line(g, px, py, px, end);
      line(g, px - r, end - r, px + r, end + r);
      line(g, px - r, end + r, px + r, end - r);
    }
    diamond(g, px, py, r);
  }
  return there.length;
}

function diamond(g, px, py, r) {
  g.beginPath();
  g.moveTo(px, py - r);
  g.lineTo(px + r, py);
  g.lineTo(px, py + r);
  g.lineTo(px - r, py);
  g.fill();
}

function drawChosen(g, x, y, width) {
  const match = state.match;
  if (!match) return;
  const points = match.path.map(([, e]) => e).filter((e) => events.arrival[e] !== null).map((e) => [x(events.le[e]), y(down(e)), e]);
  g.strokeStyle = colours.chosen;
  g.lineWidth = 1.5;
  g.beginPath();
  points.forEach(([px, py], i) => (i ? g.lineTo(px, py) : g.moveTo(px, py)));
  g.stroke();
  for (const [px, py, e] of points) {
    if (state.down === "arrival") {
      g.globalAlpha = 0.6;
      const end = events.re[e] === null ? width : x(events.re[e]);
      line(g, px, py, end, py);
      line(g, end, py - 4, end, py + 4);
      g.globalAlpha = 1;
    }
    ring(g, px, py, 8);
  }
  g.strokeStyle = match.gone === null ? colours.match : colours.gone;
  g.lineWidth = 2;
  ring(g, x(match.le), y(downOf(match, false)), 10);
  const broke = match.whyGone && match.whyGone.event;
  if (broke !== null && broke !== undefined && match.whyGone && events.arrival[broke] !== null) {
    g.setLineDash([4, 3]);
    line(g, x(events.le[broke]), edge.top, x(events.le[broke]), 1e5);
    g.setLineDash([]);
    g.lineWidth = 2.5;
    ring(g, x(events.le[broke]), y(down(broke)), 9);
  }
}

function ring(g, px, py, r) {
  g.beginPath();
  g.arc(px, py, r, 0, 7);
  g.stroke();
}

function drawLabels(g, names, shown, x, y, width) {
  const match = state.match, first = [];
  const within = (i) => events.arrival[i] !== null && x(events.le[i]) >= edge.left && x(events.le[i]) <= width - edge.right;
  if (match) {
    if (match.whyGone && match.whyGone.event !== null) first.push(match.whyGone.event);
    for (const [, e] of match.path) first.push(e);
  }
  const rest = shown.length <= LABELS ? shown.filter((i) => !first.includes(i) && !foreign(i)) : [];
  for (const i of [...first, ...rest]) if (within(i)) names.keep(x(events.le[i]), y(down(i)), 4);
  for (const i of new Set(first)) {
    if (!within(i)) continue;
    const broke = match.whyGone && match.whyGone.event === i;
    names.put(eventText(i), x(events.le[i]), y(down(i)), broke ? colours.gone : colours.ink, true);
  }
  const [y0, y1] = y.domain(), changed = state.down === "arrival" ? data.arcs.filter((arc) => arc.arrival >= y0 && arc.arrival <= y1) : [];
  if (changed.length <= LABELS) for (const arc of changed) names.put(arc.text, edge.left, y(arc.arrival), colours.ink, false);
  for (const i of rest) names.put(eventText(i), x(events.le[i]), y(down(i)), colours.dim, false);
}

// -- partial matches ---------------------------------------------------------------------------------------------------------

const spansOf = new Map();
for (const span of data.threads.spans) {
  if (!spansOf.has(span[0])) spansOf.set(span[0], []);
  spansOf.get(span[0]).push(span);
}

function laneKey() {
  if (!data.keyed) return 0;
  if (state.match) return state.match.key;
  if (state.key !== null) return state.key;
  return spansOf.size ? spansOf.keys().next().value : 0;
}

function drawLanes(x) {
  const key = laneKey(), match = state.match && state.match.key === key ? state.match : null;
  const spans = spansOf.get(key) || [], names = data.threads.states;
  const used = new Set(spans.map((s) => s[2]));
  if (match) match.states.slice(1).forEach((s) => names.includes(s) && used.add(names.indexOf(s)));
  const order = [...used].sort((a, b) => a - b);
  lanes.style.height = `${Math.min(Math.max(order.length * 34 + 44, 90), 420)}px`;
  const { g, width, height } = sized(lanes);
  axes(g, width, height, x, null);
  const step = order.length ? (height - edge.top - edge.bottom) / order.length : 1;
  const middle = (s) => edge.top + (order.indexOf(s) + 0.5) * step;
  g.textAlign = "right";
  for (const s of order) {
    g.strokeStyle = colours.grid;
    line(g, edge.left, middle(s) + step / 2, width - edge.right, middle(s) + step / 2);
    g.fillStyle = colours.dim;
    let text = names[s];
    while (text.length > 3 && g.measureText(text).width > edge.left - 12) text = text.slice(0, -2).replace(/\.?$/, ".");
    g.fillText(text, edge.left - 8, middle(s));
  }
  clip(g, width, height);
  const [x0, x1] = x.domain(), starts = new Map();
  const seen = spans.filter((s) => s[4] >= x0 && s[3] <= x1), few = seen.length <= MARKS;
  for (const s of spans) if (!starts.has(s[1])) starts.set(s[1], starts.size);
  const height_of = (start, s) => middle(s) + (((starts.get(start) * 7) % 11) / 11 - 0.45) * step * 0.6;
  const before = new Map();
  g.lineWidth = few ? 1.5 : 1;
  for (const s of seen) {
    const [, start, where, low, high, on] = s, py = height_of(start, where);
    g.strokeStyle = g.fillStyle = colours.event;
    g.globalAlpha = few ? 0.8 : 0.25;
    const left = before.get(start);
    if (left && few) {
      g.globalAlpha = 0.4;
      line(g, x(left[0]), left[1], x(low), py);
      g.globalAlpha = 0.8;
    }
    line(g, x(low), py, x(high), py);
    if (on) {
      g.setLineDash([2, 3]);
      line(g, x(high), py, x(high) + 24, py);
      g.setLineDash([]);
    }
    if (few) {
      g.beginPath();
      g.arc(x(low), py, 3, 0, 7);
      g.fill();
    }
    if (!left || high >= left[0]) before.set(start, [high, py]);
  }
  g.globalAlpha = 1;
  if (match && match.states.length) drawThread(g, match, names, x, middle);
  g.restore();
  const title = data.keyed ? `Partial matches of ${events.keys[key] ?? "no key"}, by state, at the end of the run` : "Partial matches at the end of the run, by state";
  $("lanes-title").textContent = title + (match ? "; bold: the selected match, as it was announced" : "");
  const parts = [`${number(seen.length)} of ${number(spans.length)} threads shown; a dot is an anchor: from there on a partial match stays in its state`];
  if (data.threads.leftOut) parts.push(`${number(data.threads.leftOut)} keys have threads that are not on this page`);
  $("lanes-shown").textContent = parts.join("; ") + ".";
  return seen.length;
}

function drawThread(g, match, names, x, middle) {
  const colour = match.gone === null ? colours.match : colours.gone;
  const points = match.path.map(([, e], i) => [x(events.le[e]), middle(names.indexOf(match.states[i + 1]))]);
  if (match.states.length > points.length + 1) points.push([x(match.le), middle(names.indexOf(match.states[points.length + 1]))]);
  if (!points.length) return;
  g.strokeStyle = g.fillStyle = colour;
  g.lineWidth = 3;
  g.beginPath();
  points.forEach(([px, py], i) => {
    if (i) g.lineTo(px, points[i - 1][1]);
    i ? g.lineTo(px, py) : g.moveTo(px, py);
  });
  g.stroke();
  for (const [px, py] of points) {
    g.beginPath();
    g.arc(px, py, 5, 0, 7);
    g.fill();
  }
  const broke = match.whyGone && match.whyGone.event;
  if (broke === null || broke === undefined) return;
  let at = points[0][1];
  for (const [px, py] of points) if (px < x(events.le[broke])) at = py;
  const bx = x(events.le[broke]);
  g.lineWidth = 3;
  line(g, bx - 7, at - 7, bx + 7, at + 7);
  line(g, bx - 7, at + 7, bx + 7, at - 7);
}

// -- choosing ----------------------------------------------------------------------------------------------------------------

function element(tag, text, name) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (name) made.className = name;
  return made;
}

const statusText = { withdrawn: "Withdrawn", final: "Final", "in force": "In force, not final yet" };

function choose(match, quiet) {
  state.match = match;
  const box = $("details");
  box.replaceChildren();
  for (const button of document.querySelectorAll("#matches button")) button.setAttribute("aria-pressed", match !== null && +button.dataset.match === match.i);
  $("focus").disabled = match === null;
  const states = match === null ? [] : match.states, hops = new Set(states.slice(1).map((to, i) => JSON.stringify([states[i], to])));
  for (const group of document.querySelectorAll(".drawing .state")) group.classList.toggle("passed", states.includes(group.dataset.state));
  for (const group of document.querySelectorAll(".drawing .arc")) group.classList.toggle("passed", hops.has(JSON.stringify([group.dataset.src, group.dataset.dst])));
  document.querySelector(".drawing").classList.toggle("held", match !== null && match.gone === null);
  if (match === null) {
    box.append(element("p", matches.length ? "Choose a match, in the list or in the picture, to see its events and why it came or went." : data.why ? `Nothing has matched: ${data.why}.` : "Nothing has matched."));
  } else {
    describe(box, match);
    if (!quiet) history.replaceState(null, "", `#match-${match.i}`);
  }
  schedule();
}

function describe(box, match) {
  const key = data.keyed ? `${events.keys[match.key]}: ` : "";
  box.append(element("h2", `${key}${match.text || "match"}`));
  const status = element("p");
  status.append(element("b", statusText[match.status]), document.createTextNode(`, from ${said(match.le)} to ${said(match.re)}; announced with #${number(match.at + 1)}${match.gone === null ? "" : `, withdrawn with #${number(match.gone + 1)}`}.`));
  box.append(status);
  if (match.whyGone) box.append(element("p", match.whyGone.text, "why"));
  box.append(element("p", match.why.text, "how"));
  if (match.states.length) box.append(element("p", `States: ${match.states.join(" → ")}`));
  const rows = match.path.map(([component, e]) => [e, component, false]);
  const broke = match.whyGone && match.whyGone.event;
  if (broke !== null && broke !== undefined) {
    const own = rows.find(([e]) => e === broke);
    if (!own) rows.push([broke, match.whyGone.diff < 0 ? "retracted" : "withdrew it", true]);
  }
  rows.sort((a, b) => events.le[a[0]] - events.le[b[0]]);
  if (!rows.length) return void box.append(element("p", "Its events are not kept on this page."));
  const table = element("table"), head = element("tr");
  for (const name of ["", "event", "happened", "arrived"]) head.append(element("th", name));
  table.append(head);
  for (const [e, component, bad] of rows) {
    const row = element("tr", undefined, bad ? "broke" : "");
    const arrived = events.arrival[e] === null ? "" : `#${number(events.arrival[e] + 1)}${behind[e] ? `, ${lasted(behind[e])} late` : ""}`;
    for (const text of [component, eventText(e), said(events.le[e], match.le), arrived]) row.append(element("td", text));
    table.append(row);
  }
  box.append(table);
  if (match.more) box.append(element("p", "Further choices of events lead to this match; the first one is shown.", "note"));
}

function focus(match) {
  const used = [...match.path.map(([, e]) => e)];
  if (match.whyGone && match.whyGone.event !== null) used.push(match.whyGone.event);
  const xs = [match.le, ...used.map((e) => events.le[e])];
  const ys = [downOf(match, false), ...(match.gone === null ? [] : [downOf(match, true)]), ...used.filter((e) => events.arrival[e] !== null).map(down)];
  const dx = (Math.max(...xs) - Math.min(...xs)) * 0.25 || 1, dy = (Math.max(...ys) - Math.min(...ys)) * 0.15 || 2;
  look({ x0: Math.min(...xs) - dx, x1: Math.max(...xs) + dx, y0: Math.min(...ys) - dy, y1: Math.max(...ys) + dy });
}

function small(match) {
  const [x0, x1] = scales(1000, 1000).x.domain(), used = match.path.map(([, e]) => events.le[e]);
  return match.le < x0 || match.le > x1 || match.le - Math.min(match.le, ...used) < (x1 - x0) / 20;
}

function look(box) {
  view = { ...box };
  d3.select(arrivals).call(zoom.transform, d3.zoomIdentity);
  schedule();
}

const FILTERS = [["all", "All"], ["withdrawn", "Withdrawn"], ["in force", "Not final"], ["final", "Final"]];

function list() {
  const wanted = state.search.toLowerCase();
  const found = matches.filter((m) => (state.filter === "all" || m.status === state.filter) && !dimmed(m.key) &&
    (!wanted || m.text.toLowerCase().includes(wanted) || (data.keyed && events.keys[m.key].toLowerCase().includes(wanted))));
  const box = $("matches");
  box.replaceChildren(...found.slice(0, LISTED).map((match) => {
    const item = element("li"), button = element("button", undefined, match.status === "withdrawn" ? "withdrawn" : "");
    button.type = "button";
    button.dataset.match = match.i;
    button.setAttribute("aria-pressed", state.match === match);
    button.append(element("i"), element("span", (data.keyed ? `${events.keys[match.key]}: ` : "") + (match.text || "match")), element("small", `${statusText[match.status]}, ${said(match.le)}`));
    button.addEventListener("click", () => { choose(match); if (small(match)) focus(match); });
    item.append(button);
    return item;
  }));
  $("listed").textContent = `${number(Math.min(found.length, LISTED))} of ${number(found.length)} matches listed` + (found.length > LISTED ? ": search, or choose a key, to see others." : ".");
  for (const button of document.querySelectorAll("#filters button")) button.setAttribute("aria-pressed", button.dataset.filter === state.filter);
}

function nearest(mouse) {
  const box = arrivals.getBoundingClientRect(), { x, y } = scales(box.width - 2, box.height - 2);
  const mx = mouse.clientX - box.left - 1, my = mouse.clientY - box.top - 1;
  let best = 144, found = null;
  const look = (kind, i, t, a, bonus) => {
    const dx = x(t) - mx, dy = y(a) - my, d = dx * dx + dy * dy - bonus;
    if (d < best) { best = d; found = [kind, i]; }
  };
  for (let i = 0; i < N; i++) if (events.arrival[i] !== null && !dimmed(events.key[i])) look("event", i, events.le[i], down(i), 0);
  for (const match of matches) if (!dimmed(match.key)) {
    look("match", match.i, match.le, downOf(match, false), 9);
    if (match.gone !== null) look("match", match.i, match.le, downOf(match, true), 9);
  }
  return found;
}

function tip(mouse) {
  const found = nearest(mouse), box = $("tip");
  box.hidden = !found;
  if (!found) return;
  const [kind, i] = found;
  const text = kind === "match"
    ? `${statusText[matches[i].status]}: ${matches[i].text || "match"}`
    : `${events.diff[i] < 0 ? "Retraction of " : ""}${data.keyed ? events.keys[events.key[i]] + ": " : ""}${eventText(i)}, ${said(events.le[i])} to ${said(events.re[i])}, arrived as #${number(events.arrival[i] + 1)}${behind[i] ? `, ${lasted(behind[i])} late` : ""}${events.late[i] ? ", behind a promise: left out" : ""}`;
  box.textContent = text;
  box.style.left = `${Math.min(mouse.clientX + 14, window.innerWidth - 330)}px`;
  box.style.top = `${mouse.clientY + 14}px`;
}

// -- controls ----------------------------------------------------------------------------------------------------------------

function count(n, text, title) {
  const made = element("span");
  if (n === 1) text = text.replace("events", "event").replace("matches", "match");
  made.append(element("b", number(n)), document.createTextNode(` ${text}`));
  if (title) made.title = title;
  return made;
}
$("counts").append(
  count(counts.events, "events", "changes of events: insertions and retractions"), count(counts.late, "out of order"), count(counts.announced, "matches announced"),
  count(counts.withdrawn, "withdrawn"), count(counts.announced - counts.withdrawn, "in force at the end"), count(counts.final, "of them final"));
const statuses = Object.fromEntries(FILTERS.map(([name]) => [name, name === "all" ? matches.length : matches.filter((m) => m.status === name).length]));
for (const [name, text] of FILTERS) {
  const button = element("button", `${text} ${number(statuses[name])}`);
  button.type = "button";
  button.dataset.filter = name;
  button.addEventListener("click", () => { state.filter = name; list(); });
  $("filters").append(button);
}
for (const [name, text] of [["event", "event"], ["late", "event out of order"], ["retracted", "× retraction"], ["match", "◆ match"], ["gone", "◆ withdrawn match, until ×"], ["promise", "promise, □ its cover"], ["rule", "the latest so far"], ["ink", "╌ an arc was put in or taken out"]]) {
  const item = element("span"), sample = element("i");
  sample.style.background = `var(--${name})`;
  item.append(sample, document.createTextNode(text));
  if ((name === "promise" && !promises.length) || (name === "ink" && !data.arcs.length)) continue;
  $("legend").append(item);
}
if (data.keyed) {
  const select = $("key"), all = element("option", `all ${number(events.keys.length)}`);
  all.value = "";
  select.append(all);
  events.keys.slice(0, 5000).forEach((key, i) => {
    const option = element("option", key);
    option.value = i;
    select.append(option);
  });
  select.addEventListener("change", () => {
    state.key = select.value === "" ? null : +select.value;
    if (state.match && dimmed(state.match.key)) choose(null);
    list();
    schedule();
  });
} else $("keyed").hidden = true;
$("down").value = state.down;
$("down").addEventListener("change", () => { state.down = $("down").value; look(whole()); });
$("all").addEventListener("click", () => look(whole()));
$("focus").addEventListener("click", () => state.match && focus(state.match));
$("search").addEventListener("input", (event) => { state.search = event.target.value; list(); });
$("matches").addEventListener("keydown", (event) => {
  const way = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!way) return;
  const all = [...document.querySelectorAll("#matches button")], other = all[all.indexOf(document.activeElement) + way];
  if (other) { other.focus(); other.click(); }
  event.preventDefault();
});
arrivals.addEventListener("keydown", (event) => {
  const some = d3.select(arrivals), ways = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };
  if (ways[event.key]) some.call(zoom.translateBy, ...ways[event.key].map((d) => d / transform().k));
  else if (event.key === "+" || event.key === "=") some.call(zoom.scaleBy, 1.5);
  else if (event.key === "-") some.call(zoom.scaleBy, 1 / 1.5);
  else if (event.key === "0") look(whole());
  else if (event.key === "f" && state.match) focus(state.match);
  else return;
  event.preventDefault();
});
arrivals.addEventListener("mousemove", tip);
arrivals.addEventListener("mouseleave", () => ($("tip").hidden = true));
arrivals.addEventListener("click", (event) => {
  const found = nearest(event);
  if (!found) return;
  const [kind, i] = found, of = kind === "match" ? [matches[i]] : ofEvent.get(i) || [];
  const match = of.find((m) => m.gone !== null) || of[0];
  if (match) choose(match);
});
window.addEventListener("resize", schedule);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", schedule);
window.addEventListener("hashchange", fromHash);

function fromHash() {
  const named = /^#match-(\d+)$/.exec(location.hash);
  const match = named && matches[+named[1]];
  if (match) choose(match, true);
  return Boolean(match);
}

if (statuses.withdrawn) state.filter = "withdrawn";
if (!fromHash()) choose(matches.find((m) => m.gone !== null) || null, true);
list();
draw();
})();
