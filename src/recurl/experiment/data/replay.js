"use strict";
// The replay: frames of an episode, shown one at a time.
const replays = JSON.parse(document.getElementById("data").textContent).replays;
const $ = (id) => document.getElementById(id);
const MARK = "var(--mark)", OURS = "var(--ours)", PAPER = "var(--paper)", DEEPEST = 12;
let replay = null, at = 0, timer = null;

function html(name, text, style) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (style) made.className = style;
  return made;
}

function svg(name, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

// A text that fits, with all of it in a tooltip.
function label(text, most, attributes) {
  const short = text.length > most ? text.slice(0, most - 1) + "…" : text;
  const made = svg("text", attributes, short);
  if (short !== text) made.append(svg("title", {}, text));
  return made;
}

const key = ([part, name, side]) => [part, name, side].join("\n");
// A phone shows fewer columns, so that names stay readable.
const NARROW = $("replay").clientWidth < 590;
const WIDTH = NARROW ? 420 : 760, LEFT = NARROW ? 66 : 112, RIGHT = NARROW ? 336 : 640;
const BOX = {width: 114, height: 44, every: NARROW ? 128 : 140, down: 66, columns: NARROW ? 2 : 3};
const NODE = {every: 118, down: 44, columns: NARROW ? 2 : 4};

// Where everything of a component is drawn; the height follows from how much there is.
function layout(shape) {
  const spots = {}, boxRows = Math.ceil(shape.boxes.length / BOX.columns), nodeRows = Math.ceil(shape.nodes.length / NODE.columns);
  const inner = boxRows * BOX.down + nodeRows * NODE.down;
  const sides = 24 * Math.max(shape.entries.length, shape.exits.length);
  const height = Math.max(200, inner + 60, sides + 60);
  const side = (part, names, x) => names.forEach((name, i) => {
    spots[key([part, name, ""])] = {x: x, y: height / 2 + (i - (names.length - 1) / 2) * 24};
  });
  const grid = (many, i, form, top) => {
    const row = Math.floor(i / form.columns), inRow = Math.min(form.columns, many - row * form.columns);
    return {x: (LEFT + RIGHT) / 2 + (i % form.columns - (inRow - 1) / 2) * form.every, y: top + (row + .5) * form.down};
  };
  const top = (height - inner) / 2;
  side("entries", shape.entries, LEFT);
  side("exits", shape.exits, RIGHT);
  shape.boxes.forEach((box, i) => {
    const middle = grid(shape.boxes.length, i, BOX, top);
    spots[key(["boxes", box.name, ""])] = middle;
    spots[key(["boxes", box.name, "call"])] = {x: middle.x - BOX.width / 2, y: middle.y};
    spots[key(["boxes", box.name, "return"])] = {x: middle.x + BOX.width / 2, y: middle.y};
  });
  shape.nodes.forEach((name, i) => { spots[key(["nodes", name, ""])] = grid(shape.nodes.length, i, NODE, top + boxRows * BOX.down); });
  return {spots: spots, height: height};
}

function drawDots(picture, names, part, place, worth) {
  for (const name of names) {
    const {x, y} = place.spots[key([part, name, ""])];
    picture.append(svg("circle", {cx: x, cy: y, r: 6, fill: PAPER, stroke: "var(--ink)", "stroke-width": 1.5, "class": part}));
    const beside = {entries: {x: x - 12, y: y + 4, "text-anchor": "end"}, exits: {x: x + 12, y: y + 4}, nodes: {x: x, y: y + 20, "text-anchor": "middle"}}[part];
    picture.append(label(name, part === "exits" || NARROW ? 10 : 17, beside));
    if (worth && worth.has(name)) picture.append(svg("text", {x: WIDTH, y: y + 4, "text-anchor": "end", "class": "soft"}, short(worth.get(name), 3)));
  }
}

function drawBox(picture, box, frame, place) {
  const {x, y} = place.spots[key(["boxes", box.name, ""])];
  const touched = [frame.from, frame.to].some(([part, name]) => part === "boxes" && name === box.name);
  picture.append(svg("rect", {x: x - BOX.width / 2, y: y - BOX.height / 2, width: BOX.width, height: BOX.height, rx: 5,
    fill: touched ? "var(--touched)" : PAPER, stroke: touched ? MARK : OURS, "stroke-width": touched ? 2 : 1.5, "class": "box"}));
  const size = box.name.length > 13 ? "font-size: 10.5px" : "";
  picture.append(label(box.name, 18, {x: x, y: y - 3, "text-anchor": "middle", "class": touched ? "here" : "", style: size}));
  picture.append(label("calls " + box.calls, 18, {x: x, y: y + 13, "text-anchor": "middle", "class": "soft"}));
}

// The step that is taken: an arrow from where the run is to where the transition leads.
function drawStep(picture, frame, place) {
  const from = place.spots[key(frame.from)], to = place.spots[key(frame.to)];
  if (from && to) {
    const stays = from === to, dx = to.x - from.x, dy = to.y - from.y, far = Math.hypot(dx, dy) || 1;
    const bow = Math.min(46, far / 4), middle = {x: from.x + dx / 2 + bow * dy / far, y: from.y + dy / 2 - bow * Math.abs(dx) / far};
    const end = {x: to.x - 9 * (to.x - middle.x) / (Math.hypot(to.x - middle.x, to.y - middle.y) || 1), y: to.y - 9 * (to.y - middle.y) / (Math.hypot(to.x - middle.x, to.y - middle.y) || 1)};
    const path = stays ? `M${from.x - 5},${from.y - 6} C${from.x - 34},${from.y - 46} ${from.x + 34},${from.y - 46} ${from.x + 6},${from.y - 9}`
      : `M${from.x},${from.y} Q${middle.x},${middle.y} ${end.x},${end.y}`;
    picture.append(svg("path", {d: path, fill: "none", stroke: MARK, "stroke-width": 2.2, "marker-end": "url(#head)", "class": "step"}));
    const text = stays ? {x: from.x, y: from.y - 42} : {x: (from.x + 2 * middle.x + to.x) / 4, y: (from.y + 2 * middle.y + to.y) / 4 - 12};
    text.x = Math.max(60, Math.min(WIDTH - 60, text.x));
    const wide = 7.2 * Math.min(24, frame.action.length) + 14;
    picture.append(svg("rect", {x: text.x - wide / 2, y: text.y - 14, width: wide, height: 19, rx: 9.5, fill: PAPER, stroke: MARK}));
    picture.append(label(frame.action, 24, {...text, "text-anchor": "middle", "class": "taken"}));
  }
  if (from) picture.append(svg("circle", {cx: from.x, cy: from.y, r: 7.5, fill: MARK, stroke: PAPER, "stroke-width": 1.5, id: "here"}));
}

function draw(frame) {
  const shape = replay.components[frame.component], place = layout(shape), picture = $("picture");
  picture.setAttribute("viewBox", `0 0 ${WIDTH} ${place.height}`);
  const head = svg("marker", {id: "head", viewBox: "0 0 10 10", refX: 8, refY: 5, markerWidth: 6, markerHeight: 6, orient: "auto-start-reverse"});
  head.append(svg("path", {d: "M0,0 L10,5 L0,10 z", fill: MARK}));
  picture.replaceChildren(head, svg("rect", {x: LEFT, y: 14, width: RIGHT - LEFT, height: place.height - 28, rx: 10, fill: "var(--wash)", stroke: "var(--ink)", "stroke-width": 1.5}));
  for (const box of shape.boxes) drawBox(picture, box, frame, place);
  drawDots(picture, shape.nodes, "nodes", place);
  drawDots(picture, shape.entries, "entries", place);
  drawDots(picture, shape.exits, "exits", place, new Map(frame.exits));
  const words = {entries: [LEFT - 12, "end", "entries"], boxes: [(LEFT + RIGHT) / 2, "middle", "boxes"], exits: [RIGHT + 12, "start", "exits"]};
  for (const [part, [x, anchor, name]] of Object.entries(words))
    if (shape.more[part]) picture.append(svg("text", {x: x, y: place.height - (part === "boxes" ? 20 : 2), "text-anchor": anchor, "class": "soft"}, `+ ${shape.more[part]} more ${name}`));
  drawStep(picture, frame, place);
}

const short = (value, digits = 5) => String(Number(value.toPrecision(digits)));

function showStack(frame) {
  const hidden = Math.max(0, frame.stack.length - DEEPEST);
  const waiting = frame.stack.slice(hidden).map((one) => html("div", `${one.component} waits in ${one.box}`));
  const rest = hidden ? [html("div", `${hidden} more below`, "rest")] : [];
  $("stack").replaceChildren(...rest, ...waiting, html("div", `${frame.component} runs`, "now"));
  $("stack").dataset.depth = frame.stack.length + 1;
}

function showExits(frame) {
  const most = Math.max(...frame.exits.map(([, value]) => value), 1e-9);
  $("exits").replaceChildren(...frame.exits.map(([name, value]) => {
    const left = frame.to[0] === "exits" && frame.to[1] === name;
    const row = html("tr", undefined, left ? "left" : ""), bar = html("i"), cell = html("td");
    bar.style.width = 100 * Math.max(0, value) / most + "%";
    cell.append(bar);
    row.append(html("td", name), html("td", short(value)), cell);
    return row;
  }));
  const note = frame.exits.length > 1 ? "What each exit is worth to the callers, relative to the worst." : "With a single exit there is nothing to compare.";
  $("basis").textContent = frame.exits.length ? "Exit values v it acts on" : "Context it acts in";
  $("context").textContent = frame.exits.length ? note : frame.context || "This policy does not look at the stack here.";
}

function showDepths() {
  const frames = replay.frames, deepest = Math.max(...frames.map((one) => one.stack.length + 1)), width = 1000 / frames.length;
  const bars = frames.map((one, i) => {
    const height = 40 * (one.stack.length + 1) / deepest;
    return svg("rect", {x: i * width, y: 46 - height, width: Math.max(.6, width * .9), height: height, fill: i === at ? MARK : "var(--bar)"});
  });
  $("depths").replaceChildren(...bars);
}

function show() {
  const frame = replay.frames[at], last = replay.frames.length - 1;
  $("where").textContent = `step ${at + 1} of ${last + 1}`;
  $("scrub").value = at;
  $("scrub").setAttribute("aria-valuetext", `${frame.component}: ${frame.action}`);
  $("first").disabled = $("back").disabled = at === 0;
  $("forward").disabled = at === last;
  $("component").textContent = `Component ${frame.component}, ${frame.where}`;
  $("actions").replaceChildren(...frame.actions.map((name) => html("span", name, name === frame.action ? "taken" : "")));
  $("event").textContent = `${frame.action}: ${frame.event}`;
  $("sums").textContent = `reward ${short(frame.reward)}, total so far ${short(frame.total)}`;
  showStack(frame);
  showExits(frame);
  showDepths();
  draw(frame);
}

function go(to) { at = Math.max(0, Math.min(replay.frames.length - 1, to)); show(); }
function pause() { clearInterval(timer); timer = null; $("play").textContent = "Play"; }
function play() {
  clearInterval(timer);
  if (at === replay.frames.length - 1) go(0);
  $("play").textContent = "Pause";
  timer = setInterval(() => { if (at === replay.frames.length - 1) pause(); else go(at + 1); }, Number($("pace").value));
}
function choose(index) {
  pause();
  replay = replays[index];
  $("scrub").max = replay.frames.length - 1;
  const worth = replay.exact === undefined ? "" : `; the policy is worth ${short(replay.exact)}`;
  $("about").textContent = `An episode of ${replay.run}${worth}.` + (replay.ended ? "" : ` The episode goes on after these ${replay.frames.length} steps.`);
  go(0);
}

$("which").hidden = replays.length < 2;
replays.forEach((one, i) => $("which").append(new Option(one.name, i)));
$("which").onchange = (event) => choose(Number(event.target.value));
$("first").onclick = () => { pause(); go(0); };
$("back").onclick = () => { pause(); go(at - 1); };
$("forward").onclick = () => { pause(); go(at + 1); };
$("play").onclick = () => (timer === null ? play() : pause());
$("pace").onchange = () => { if (timer !== null) play(); };
$("scrub").oninput = (event) => { pause(); go(Number(event.target.value)); };
if (replays.length) choose(0); else $("replay").textContent = "No run has a policy to replay.";
