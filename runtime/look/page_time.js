/* page_time.js: the time of a step: what a run's seconds went to, a flame graph of a step's kernels against their floors,
 * the time of each layer. */

const sumOf = (list, of) => list.reduce((n, x) => n + (isNumber(of(x)) ? of(x) : 0), 0);
const msText = ms => (ms >= 100 ? ms.toFixed(0) : ms >= 1 ? ms.toFixed(2) : ms.toFixed(3)) + ' ms';
const spanText = s => s < 1 ? msText(1e3 * s) : timeText(s);
const percent = share => (100 * share).toFixed(1) + ' %';

/* A bar of parts that make a whole: [name, amount, what is said of it]. */
function shareBar(label, parts) {
  const all = sumOf(parts, p => p[1]), bar = make('div', { class: 'bar', role: 'img', 'aria-label': label + ': ' + parts.map(p => p[2]).join(', ') });
  const rows = parts.map(([, amount, told], i) => {
    const piece = make('span', { title: told });
    piece.style.flex = amount / all + ' 0 0';
    piece.style.background = ofPage(i);
    if (i >= COLOURS) piece.style.opacity = .6;
    bar.append(piece);
    const box = drawn('svg', { width: 14, height: 12, 'aria-hidden': 'true' }, drawn('rect', { width: 12, height: 12, style: 'fill:' + ofPage(i), opacity: i >= COLOURS ? .6 : 1 }));
    return make('li', {}, box, told);
  });
  return [bar, make('ul', { class: 'legend' }, ...rows)];
}

/* ------------------------------------------------------------------ kernels of a profile */

const rowsOfTurn = turn => (Array.isArray(turn.kernels) ? turn.kernels : []).filter(k => isObject(k) && isNumber(k.ms) && k.ms >= 0);
const turnsOf = r => (isObject(r.profile) && Array.isArray(r.profile.turns) ? r.profile.turns : []).filter(t => isObject(t) && rowsOfTurn(t).length);
/* Layers from the outside in; what a kernel does for several layers counts for the one that holds them all. */
const pathOf = k => String(k.path || '').split(',')[0].split('.').filter(p => p !== '');

function boundOf(k, profile) {
  const moving = k.bytes / profile.copy_bytes_per_s, computing = k.flops / profile.product_flops_per_s;
  return moving > computing || !(computing > 0) ? 'moving bytes' : 'multiplying';
}

function tellKernel(k, profile) {
  const seconds = k.ms / 1e3, calls = k.calls || 0;
  if (k.kernels) return [k.kernels + ' kernels'];
  return [calls > 1 ? calls + ' calls' : '', seconds > 0 && k.bytes ? Number((calls * k.bytes / seconds / 1e9).toPrecision(3)) + ' GB/s' : '',
    seconds > 0 && k.flops ? Number((calls * k.flops / seconds / 1e9).toPrecision(3)) + ' GFLOP/s' : '',
    k.floor_ms > 0 ? 'bound by ' + boundOf(k, profile) : '', k.where, k.formula].filter(x => x);
}

/* ------------------------------------------------------------------ the flame graph */

function childOf(node, name, kernel) {
  const key = (kernel ? 'kernel ' : 'in ') + name;
  if (!node.children.has(key)) node.children.set(key, { name, kernel, parent: node, children: new Map(), ms: 0, floor: 0 });
  return node.children.get(key);
}

const placeOf = k => isNumber(k.lap) ? k.lap < 0 ? 1e9 - k.lap : k.lap : 2e9; /* the optimizer's come last */

function flameOf(turns) {
  const root = { name: 'step', children: new Map(), ms: 0, floor: 0 };
  for (const turn of turns) for (const k of [...rowsOfTurn(turn)].sort((a, b) => placeOf(a) - placeOf(b))) {
    const way = [root];
    for (const name of [...(turns.length > 1 ? [turn.turn || 'turn'] : []), k.part || 'step', ...pathOf(k)]) way.push(childOf(way[way.length - 1], name));
    const above = way[way.length - 1];
    way.push(childOf(above, above.children.has('kernel ' + k.name) ? k.name + ' ' + k.lap : String(k.name), k));
    for (const node of way) node.ms += k.ms, node.floor += isNumber(k.floor_ms) ? Math.min(k.floor_ms, k.ms) : 0;
  }
  return root;
}

function tellNode(node, root, profile) {
  const names = [];
  for (let n = node; n.parent; n = n.parent) names.unshift(n.name);
  const floor = node.floor > 0 ? ['floor ' + msText(node.kernel && isNumber(node.kernel.floor_ms) ? node.kernel.floor_ms : node.floor) + ' (' + percent(node.floor / (node.ms || 1)) + ' of it)'] : [];
  return [names.join(' › ') || 'step', msText(node.ms) + ', ' + percent(node.ms / (root.ms || 1)) + ' of the step', ...floor, ...(node.kernel ? tellKernel(node.kernel, profile) : [])].join(' · ');
}

const BOX = 25; /* px of a row */

function flameBox(node, depth, left, share, root, state) {
  const fill = make('i'), told = tellNode(node, root, state.profile);
  const box = make('button', { type: 'button', class: 'box', tabindex: -1, title: told, 'aria-label': told }, fill, make('span', {}, node.name));
  box.style.left = 100 * left + '%';
  box.style.width = 100 * share + '%';
  box.style.top = BOX * depth + 'px';
  fill.style.width = 100 * Math.min(1, node.ms > 0 ? node.floor / node.ms : 0) + '%';
  box.onmouseenter = box.onfocus = () => { state.told.textContent = told; };
  box.onclick = () => { state.top = state.top === node && node.parent ? node.parent : node; drawFlame(root, state, node); };
  node.box = box;
  state.place.append(box);
}

function flameBelow(node, depth, left, share, root, state) {
  flameBox(node, depth, left, share, root, state);
  state.depth = Math.max(state.depth, depth);
  let at = left;
  for (const child of node.children.values()) {
    const part = node.ms > 0 ? share * child.ms / node.ms : 0;
    if (part > 0) flameBelow(child, depth + 1, at, part, root, state);
    at += part;
  }
}

/* What is above the box that fills the width stays, as wide as it. */
function drawFlame(root, state, focused) {
  const above = [];
  for (let n = state.top.parent; n; n = n.parent) above.unshift(n);
  const clear = node => { node.box = null; node.children.forEach(clear); };
  clear(root);
  state.place.replaceChildren();
  state.depth = 0;
  above.forEach((node, i) => flameBox(node, i, 0, 1, root, state));
  flameBelow(state.top, above.length, 0, 1, root, state);
  state.place.style.height = BOX * (state.depth + 1) + 'px';
  const first = focused && focused.box ? focused : state.top;
  first.box.tabIndex = 0;
  if (focused) first.box.focus();
  state.at = first;
}

function toNode(state, node) {
  if (!node || !node.box) return;
  state.at.box.tabIndex = -1;
  node.box.tabIndex = 0;
  node.box.focus();
  state.at = node;
}

function flameKey(event, root, state) {
  const node = state.at, all = n => [...n.children.values()].filter(c => c.box), beside = node.parent ? all(node.parent) : [node], i = beside.indexOf(node);
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === 'ArrowDown') toNode(state, all(node)[0]);
  else if (event.key === 'ArrowUp') toNode(state, node.parent);
  else if (event.key === 'ArrowRight') toNode(state, beside[i + 1]);
  else if (event.key === 'ArrowLeft') toNode(state, beside[i - 1]);
  else if (event.key === 'Escape') { state.top = root; drawFlame(root, state, root); }
  else return;
  event.preventDefault();
}

function showFlame(r, turns, to) {
  const root = flameOf(turns), profile = r.profile, place = make('div', { class: 'flame', role: 'group', 'aria-label': 'A step as a flame graph, in ' + turns.length + (turns.length > 1 ? ' turns' : ' turn') });
  const told = make('p', { class: 'quiet told', 'aria-live': 'polite' }), state = { place, told, profile, top: root, at: root, depth: 0 };
  if (!(root.ms > 0)) return;
  const rates = profile.copy_bytes_per_s > 0 ? ' The floor of a kernel is the longer of two times: its bytes at ' + Number((profile.copy_bytes_per_s / 1e9).toPrecision(3)) + ' GB/s' +
    (profile.product_flops_per_s > 0 ? ', its products at ' + Number((profile.product_flops_per_s / 1e9).toPrecision(3)) + ' GFLOP/s' : '') + ', which this machine was measured to do.' : ' The floors are not known: the run ended before they were measured.';
  const steps = Math.max(...turns.map(t => t.steps || 0));
  to.append(make('h3', {}, 'A step, kernel by kernel: ' + msText(root.ms)), place, told, make('p', { class: 'quiet' }, 'Width is time, the median of ' + numberText(steps) + ' steps; blue is the floor’s share of it, orange what is lost.' + rates +
    ' A click fills the width with a box, another one goes back; with the keyboard: arrows, Enter, Escape.'));
  place.addEventListener('keydown', event => flameKey(event, root, state));
  place.addEventListener('focusin', event => { for (const n of everyNode(root)) if (n.box === event.target) state.at = n; });
  drawFlame(root, state, null);
  told.textContent = tellNode(root, root, profile);
  place.dataset.boxes = place.childElementCount;
}

function everyNode(node) { return [node, ...[...node.children.values()].flatMap(everyNode)]; }

function showTime(r, to) {
  const spent = isObject(r.profile) && isObject(r.profile.spent) ? Object.entries(r.profile.spent).filter(([, s]) => isNumber(s) && s > 0) : [];
  const turns = turnsOf(r), all = isObject(r.profile) ? r.profile.seconds : 0;
  if (spent.length && isNumber(all)) {
    const rest = all - sumOf(spent, p => p[1]), parts = rest > 0 ? [...spent, ['the rest', rest]] : spent, whole = sumOf(parts, p => p[1]);
    to.append(make('h3', {}, 'Where the time went'), make('p', { class: 'quiet' }, spanText(whole) + ' since the last start of this run, before its final report.'),
      ...shareBar('Time', parts.map(([name, s]) => [name, s, name + ' ' + spanText(s) + ', ' + percent(s / whole)])));
  }
  if (turns.length) showFlame(r, turns, to);
}

/* ------------------------------------------------------------------ the time of layers */

/* Adds the time of kernels to a tree of layers; those whose layer has no parameters get a node of their own. */
function addTimes(root, turns) {
  const fresh = () => ({ children: new Map(), count: 0, bytes: 0, ms: 0 });
  for (const turn of turns) for (const k of rowsOfTurn(turn)) {
    let node = root;
    node.ms = (node.ms || 0) + k.ms;
    for (const part of k.part === 'update' ? ['norm and update'] : pathOf(k)) {
      if (!node.children.has(part)) node.children.set(part, fresh());
      node = node.children.get(part);
      node.ms = (node.ms || 0) + k.ms;
    }
  }
}

function timeOfLayer(node, root) {
  if (!(root.ms > 0)) return null;
  const cell = make('span', { class: 'time' }, node.ms > 0 ? msText(node.ms) + ' ' + percent(node.ms / root.ms) : '–');
  if (node.ms > 0) cell.style.setProperty('--share', 100 * node.ms / root.ms + '%');
  return cell;
}
