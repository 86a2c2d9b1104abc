/* page_run.js: what the report shows of one run: samples, evaluation, layers, memory, environment; and the start. */

/* ------------------------------------------------------------------ samples */

function pictureOf(output) {
  const all = output.shape, levels = output.levels, last = all.length === 3 && [1, 3].includes(all[2]);
  const shape = last ? [all[2], all[0], all[1]] : all.length === 2 ? [1, ...all] : all, [channels, high, wide] = shape;
  if (shape.length !== 3 || ![1, 3].includes(channels) || high < 2 || channels * high * wide !== levels.length) return null;
  const place = (c, i) => channels === 1 ? i : last ? 3 * i + c : c * high * wide + i;
  const scale = Math.max(1, Math.floor(112 / Math.max(high, wide))), canvas = make('canvas', { width: wide, height: high });
  const context = canvas.getContext('2d'), image = context.createImageData(wide, high);
  for (let i = 0; i < high * wide; i++) {
    for (let c = 0; c < 3; c++) image.data[4 * i + c] = levels[place(c, i)];
    image.data[4 * i + 3] = 255;
  }
  context.putImageData(image, 0, 0);
  canvas.style.width = wide * scale + 'px';
  canvas.style.height = high * scale + 'px';
  return canvas;
}

function outputFigure(step, name, output) {
  const told = name + ' at step ' + numberText(step) + ', ' + numberText(output.low) + ' to ' + numberText(output.high);
  const picture = pictureOf(output);
  if (picture) picture.setAttribute('aria-label', told), picture.setAttribute('role', 'img');
  return make('figure', {}, picture || make('pre', {}, output.first.map(numberText).join(' ') + (output.first.length < output.levels.length ? ' …' : '')), make('figcaption', {}, told));
}

/* A text that goes on from its prompt begins with it. */
function textParts(s) {
  if (!s.prompt) return [s.text];
  return s.text.startsWith(s.prompt) ? [make('b', {}, s.prompt), s.text.slice(s.prompt.length)] : [make('b', {}, s.prompt), '\n', s.text];
}

function showSamples(r, to) {
  if (!r.samples.length) return;
  to.append(make('h3', {}, 'Samples'));
  const texts = r.samples.filter(s => isNumber(s.step) && s.text), pictures = r.samples.filter(s => isObject(s.outputs));
  const blocks = [...texts].reverse().map(s => make('div', {}, make('p', { class: 'quiet' }, 'step ' + numberText(s.step)),
    make('pre', {}, ...textParts(s))));
  to.append(make('div', { class: 'samples' }, ...blocks.slice(0, 4)));
  if (blocks.length > 4) to.append(make('details', {}, make('summary', {}, blocks.length - 4 + ' earlier ones'), make('div', { class: 'samples' }, ...blocks.slice(4))));
  to.append(make('div', { class: 'pictures' }, ...[...pictures].reverse().flatMap(s => Object.entries(s.outputs).map(([name, o]) => outputFigure(s.step, name, o)))));
}

/* ------------------------------------------------------------------ what `trainer eval` found */

function showConfusion(confusion, names, to) {
  const nameOf = k => Array.isArray(names) && typeof names[k] === 'string' ? names[k] : k;
  const n = confusion.length;
  if (!n || n > 40 || !confusion.every(row => Array.isArray(row) && row.length === n && row.every(isNumber))) return;
  const rows = confusion.map((row, k) => {
    const sum = row.reduce((a, b) => a + b, 0);
    return make('tr', {}, make('th', { scope: 'row' }, nameOf(k)), ...row.map((x, i) => {
      const cell = make('td', { title: 'class ' + nameOf(k) + ' taken for ' + nameOf(i) }, x), share = sum ? x / sum : 0;
      if (x) cell.style.background = 'color-mix(in srgb, var(' + (i === k ? '--c0' : '--c1') + ') ' + Math.round(8 + 35 * share) + '%, transparent)';
      return cell;
    }));
  });
  to.append(make('h3', {}, 'Confusion'), make('p', { class: 'quiet' }, 'A row for each class of the data, a column for each that the model says.'),
    make('div', { class: 'wide' }, make('table', { class: 'confusion' }, make('thead', {}, make('tr', {}, make('th', {}, ''), ...confusion.map((_, i) => make('th', { class: 'number' }, nameOf(i))))), make('tbody', {}, ...rows))));
}

/* Of many classes: [rows, class, what it is taken for]. */
function showConfused(list, names, to) {
  const nameOf = k => Array.isArray(names) && typeof names[k] === 'string' ? names[k] : String(k), seen = list.filter(c => Array.isArray(c) && c.length === 3 && c.every(isNumber));
  if (!seen.length) return;
  to.append(make('h3', {}, 'What is most often confused'), make('div', { class: 'wide' }, make('table', {}, make('thead', {}, make('tr', {}, make('th', { class: 'number' }, 'rows'), make('th', {}, 'of class'), make('th', {}, 'taken for'))),
    make('tbody', {}, ...seen.map(([rows, k, i]) => make('tr', {}, make('td', { class: 'number' }, rows), make('td', {}, nameOf(k)), make('td', {}, nameOf(i))))))));
}

function showCalibration(bins, to) {
  const side = 220, seen = bins.filter(b => isObject(b) && isNumber(b.confidence) && isNumber(b.accuracy));
  if (!seen.length) return;
  const svg = drawn('svg', { viewBox: '-34 -8 270 258', width: 270, height: 258, role: 'img', 'aria-label': 'Calibration: accuracy over confidence', class: 'plan' });
  svg.style.maxWidth = '300px';
  svg.append(drawn('rect', { x: 0, y: 0, width: side, height: side, fill: 'none', style: 'stroke: var(--line)' }), drawn('line', { x1: 0, y1: side, x2: side, y2: 0, stroke: 'var(--line)' }),
    drawn('text', { x: 0, y: side + 16 }, '0'), drawn('text', { x: side - 8, y: side + 16 }, '1'), drawn('text', { x: 70, y: side + 16 }, 'confidence'), drawn('text', { x: -30, y: 12 }, '1'), drawn('text', { x: -30, y: side }, '0'));
  const most = Math.max(...seen.map(b => b.rows));
  for (const b of seen) svg.append(drawn('circle', { cx: b.confidence * side, cy: side - b.accuracy * side, r: 3 + 7 * Math.sqrt(b.rows / most), fill: 'var(--c0)', 'fill-opacity': .75 },
    drawn('title', {}, b.rows + ' rows: confidence ' + numberText(b.confidence) + ', accuracy ' + numberText(b.accuracy))));
  to.append(make('h3', {}, 'Calibration'), svg);
}

function showEvaluation(r, to) {
  const m = isObject(r.eval) ? r.eval.metrics : null;
  if (!isObject(m)) return;
  const numbers = Object.entries(m).filter(([, v]) => isNumber(v));
  to.append(make('h3', {}, 'Evaluation' + (isNumber(r.eval.over) ? ' over ' + grouped(r.eval.over) + ' rows' : '') + (isNumber(r.eval.step) ? ', after step ' + grouped(r.eval.step) : '')), make('dl', { class: 'facts' }, ...numbers.flatMap(([k, v]) => [make('dt', {}, k), make('dd', { class: 'number' }, numberText(v))])));
  if (Array.isArray(m.confusion)) showConfusion(m.confusion, r.eval.classes, to);
  if (Array.isArray(m.confused)) showConfused(m.confused, r.eval.classes, to);
  if (Array.isArray(m.calibration)) showCalibration(m.calibration, to);
}

/* ------------------------------------------------------------------ layers */

function treeOf(parameters) {
  const root = { children: new Map(), count: 0, bytes: 0 };
  for (const p of parameters) {
    if (!isObject(p) || !isNumber(p.count) || !isNumber(p.bytes)) continue;
    let node = root;
    for (const part of ['', ...String(p.name).split('.')]) {
      if (part !== '') {
        if (!node.children.has(part)) node.children.set(part, { children: new Map(), count: 0, bytes: 0 });
        node = node.children.get(part);
      }
      node.count += p.count, node.bytes += p.bytes;
    }
    node.leaf = p;
  }
  return root;
}

function treeNode(name, node, root) {
  const time = timeOfLayer(node, root);
  while (node.children.size === 1 && root !== node) {
    const [[inner, only]] = node.children;
    name += '.' + inner, node = only;
  }
  const leaf = node.leaf, share = root.count ? ' · ' + (100 * node.count / root.count).toFixed(1) + ' %' : '';
  const amount = node.count ? make('span', { class: 'amount' }, grouped(node.count) + ' · ' + bytesText(node.bytes) + share) : null;
  if (!node.children.size) {
    const copies = leaf && leaf.copies && leaf.copies.length ? leaf.copies.join(' × ') + ' × ' : '';
    return make('div', { class: 'leaf' }, time, make('code', {}, name), amount, leaf ? make('span', { class: 'amount' }, copies + '[' + (leaf.shape || []).join(', ') + ']' + (leaf.trained === false ? ', frozen' : '') + (leaf.where ? ', ' + leaf.where : '')) : null);
  }
  return make('details', { open: root === node }, make('summary', {}, time, make('code', {}, name), amount), ...[...node.children].map(([k, n]) => treeNode(k, n, root)));
}

function showLayers(r, to) {
  const list = r.about && r.about.parameters;
  if (!Array.isArray(list) || !list.length) return;
  const root = treeOf(list), turns = turnsOf(r);
  addTimes(root, turns);
  to.append(make('h3', {}, 'Layers: parameters and bytes' + (turns.length ? ', time of a step' : '')), make('div', { class: 'tree' }, treeNode((r.config && r.config.model) || 'model', root, root)));
  if (turns.length) to.append(make('p', { class: 'quiet' }, 'Forward and backward; a kernel that computes several layers counts for the one that holds them all.'));
}

/* ------------------------------------------------------------------ data */

function lengthChart(l) {
  const bins = l.bins.filter(isNumber), most = Math.max(...bins), wide = 300, high = 90, each = wide / bins.length;
  const svg = drawn('svg', { class: 'plan lengths', viewBox: '0 0 ' + wide + ' ' + (high + 18), width: wide, height: high + 18, role: 'img',
    'aria-label': 'Lengths of ' + l.of + ': ' + l.shortest + ' to ' + l.longest + ' of ' + l.row + ' places' });
  svg.style.maxWidth = wide + 'px';
  bins.forEach((n, i) => {
    const from = Math.ceil(i * l.row / (bins.length - 1)), to = i === bins.length - 1 ? l.row : Math.ceil((i + 1) * l.row / (bins.length - 1)) - 1;
    if (n > 0) svg.append(drawn('rect', { x: i * each, y: high - high * n / most, width: each, height: Math.max(1, high * n / most), fill: 'var(--c0)' }, drawn('title', {}, grouped(n) + ' of ' + from + (to > from ? ' to ' + to : '') + ' tokens')));
  });
  svg.append(drawn('line', { x1: 0, x2: wide, y1: high, y2: high, stroke: 'var(--line)' }), drawn('text', { x: 0, y: high + 14 }, '0'), drawn('text', { x: wide, y: high + 14, 'text-anchor': 'end' }, l.row + ' tokens'));
  return svg;
}

function lengthFigure(l) {
  const mean = l.used / l.pieces, waste = 1 - l.used / l.places;
  return make('figure', {}, lengthChart(l), make('figcaption', {}, grouped(l.pieces) + ' ' + l.of + ' of ' + l.shortest + ' to ' + l.longest + ' tokens, ' + numberText(Number(mean.toPrecision(3))) + ' on average, ' +
    percent(l.full / l.pieces) + ' of them fill a row; ' + percent(waste) + ' of places are padding'));
}

function pairsText(p) {
  if (!isObject(p) || !(p.pairs > 0) || !['source', 'target', 'longest_source', 'longest_target', 'cut', 'skipped'].every(k => isNumber(p[k]))) return null;
  return 'sources of ' + Math.round(p.source / p.pairs) + ' tokens on average, up to ' + p.longest_source + ', targets of ' + Math.round(p.target / p.pairs) + ', up to ' + p.longest_target + '; ' +
    percent(p.cut / p.pairs) + ' cut, ' + grouped(p.skipped) + ' left out (of ' + grouped(p.pairs) + ' kept for evaluation)';
}

function showData(r, to) {
  const d = r.data;
  if (!isObject(d)) return;
  const sources = (Array.isArray(d.sources) ? d.sources : []).filter(isObject);
  const lengths = (Array.isArray(d.lengths) ? d.lengths : []).filter(l => isObject(l) && Array.isArray(l.bins) && l.bins.length > 1 && l.pieces > 0 && l.places > 0 && l.row > 0);
  const of = (n, unit) => isNumber(n) ? grouped(n) + ' ' + unit : null, text = d.unit === 'tokens';
  const facts = [['to train on', of(d.train, d.unit)], ['to evaluate', isNumber(d.val) && d.val > 0 ? of(d.val, d.train === null ? d.items : d.unit) : null], ['a step', isNumber(d.items_a_step) ? of(d.items_a_step, d.items) + (text ? ', ' + of(d.places_a_step, 'places') : '') : null],
    ['targets that count', d.targets > 0 ? percent(d.counted / d.targets) + ' of places' + (d.steps > 0 ? ', ' + of(d.counted / d.steps, 'a step') : '') : null],
    ...sources.map(s => [s.path || 'files', [s.files, sources.length > 1 && isNumber(s.share) ? percent(s.share) + ' of rows' : null,
      s.held_documents > 0 ? 'documents of ' + numberText(s.shortest) + ' to ' + numberText(s.longest) + ' tokens, ' + numberText(Math.round(s.held_tokens / s.held_documents)) + ' on average, ' + percent(s.split / s.held_documents) + ' of them longer than a row (of ' + grouped(s.held_documents) + ' kept for evaluation)' : null, pairsText(s.held_pairs)].filter(x => x).join('; ')])];
  to.append(make('h3', {}, 'Data'), make('dl', { class: 'facts' }, ...facts.filter(f => f[1]).flatMap(([k, v]) => [make('dt', {}, k), make('dd', {}, v)])));
  if (lengths.length) to.append(make('div', { class: 'pictures' }, ...lengths.map(lengthFigure)));
}

/* ------------------------------------------------------------------ memory */

function showCategories(memory, to) {
  const parts = Object.entries(memory.categories || {}).filter(([, b]) => isNumber(b) && b > 0);
  if (parts.length) to.append(make('h3', {}, 'Memory: ' + grouped(sumOf(parts, p => p[1])) + ' bytes planned'), ...shareBar('Memory by category', parts.map(([name, bytes]) => [name, bytes, name + ' ' + bytesText(bytes)])));
}

function showMemory(r, to) { if (r.about && isObject(r.about.memory)) showCategories(r.about.memory, to); }

const lineOfBuffer = b => (b.name || '') + '  ' + (b.shape || '') + '  ' + grouped(b.bytes) + ' bytes, steps ' + b.first + ' to ' + b.last + (b.where ? ', ' + b.where : '');

function drawPlan(plan, width, told) {
  const high = 300, left = 64, below = 26, inner = width - left - 8, laps = plan.laps, bytes = Math.max(1, plan.work_bytes);
  const x = lap => left + inner * lap / laps, y = at => high - high * at / bytes;
  const svg = drawn('svg', { class: 'plan', viewBox: '0 0 ' + width + ' ' + (high + below), width, height: high + below, role: 'img', 'aria-label': 'Buffers over the kernels of a step' });
  const blamed = new Set(plan.peak.blame.map(b => b.name));
  plan.buffers.forEach(b => {
    const rect = drawn('rect', { x: x(b.first), y: y(b.offset + b.bytes), width: Math.max(1, x(b.last + 1) - x(b.first)), height: Math.max(.8, high * b.bytes / bytes),
      fill: blamed.has(b.name) ? 'var(--c1)' : 'var(--c0)', 'fill-opacity': blamed.has(b.name) ? .8 : .5 }, drawn('title', {}, lineOfBuffer(b)));
    rect.onmouseenter = () => told.textContent = lineOfBuffer(b);
    svg.append(rect);
  });
  const peak = x(plan.peak.lap + .5);
  svg.append(drawn('line', { class: 'peak', x1: peak, x2: peak, y1: 0, y2: high }));
  for (const share of [0, .5, 1]) svg.append(drawn('text', { x: 0, y: Math.max(11, y(share * bytes)) }, bytesText(share * bytes)));
  svg.append(drawn('text', { x: left, y: high + 18 }, 'first kernel'), drawn('text', { x: width - 8, y: high + 18, 'text-anchor': 'end' }, 'last kernel'));
  if (peak > left + 110 && peak < width - 110) svg.append(drawn('text', { x: peak, y: high + 18, 'text-anchor': 'middle' }, 'fullest'));
  return svg;
}

let redrawPlan = () => {};

function showPlan(r, to) {
  const plan = r.about && r.about.plan;
  if (!isObject(plan) || !plan.buffers || !plan.buffers.length) return;
  const kernel = (plan.kernels || []).find(k => k.lap >= plan.peak.lap), place = make('div'), told = make('p', { class: 'quiet', 'aria-live': 'polite' }, 'A box is a buffer: across, the kernels during which it is kept; upwards, where it lies in the arena.');
  const full = 'The arena of a step has ' + grouped(plan.work_bytes) + ' bytes. It is fullest at kernel ' + plan.peak.lap + (kernel ? ' (' + kernel.name + (kernel.where ? ', ' + kernel.where : '') + ')' : '') + ': ' + grouped(plan.peak.bytes) + ' bytes, mostly these (orange):';
  const rows = plan.peak.blame.map(b => make('tr', {}, make('th', { scope: 'row' }, make('code', {}, b.name)), make('td', {}, make('code', {}, b.shape)), make('td', { class: 'number' }, grouped(b.bytes)),
    make('td', { class: 'number' }, (100 * b.bytes / plan.peak.bytes).toFixed(1) + ' %'), make('td', { class: 'number' }, b.first + ' – ' + b.last), make('td', { class: 'where' }, b.where)));
  to.append(make('h3', {}, 'The memory plan'), place, told, make('p', {}, full), make('div', { class: 'wide' }, make('table', {}, make('thead', {}, make('tr', {}, ...['buffer', 'shape', 'bytes', 'share', 'kernels', 'line'].map((t, i) => make('th', { class: i > 1 && i < 5 ? 'number' : null }, t)))), make('tbody', {}, ...rows))));
  if (plan.left_out) to.append(make('p', { class: 'quiet' }, grouped(plan.left_out) + ' smaller buffers are not drawn.'));
  const redraw = () => place.replaceChildren(drawPlan(plan, onPaper() ? PAPER : Math.max(280, place.clientWidth), told));
  redrawPlan = redraw;
  redraw();
  new ResizeObserver(redraw).observe(place);
}

function showKernels(r, to) {
  const plan = r.about && r.about.plan, list = plan && plan.kernels, turns = turnsOf(r);
  if (!Array.isArray(list) || !list.length) return;
  const turn = turns.find(t => (t.turn || '') === (plan.turn || '')), timed = new Map(turn ? rowsOfTurn(turn).map(k => [k.lap, k]) : []);
  const times = k => timed.size ? ['ms', 'floor_ms'].map(of => make('td', { class: 'number' }, timed.has(k.lap) && isNumber(timed.get(k.lap)[of]) ? timed.get(k.lap)[of].toFixed(3) : '')) : [];
  const heads = [['', 1], ['kernel'], ['what'], ['layer'], ['line'], ['flop a call', 1], ['bytes a call', 1], ...(timed.size ? [['ms a step', 1], ['floor', 1]] : [])];
  const rows = list.map(k => make('tr', {}, make('td', { class: 'number' }, k.lap), make('th', { scope: 'row' }, make('code', {}, k.name)), make('td', {}, make('code', {}, k.formula)), make('td', {}, k.path), make('td', { class: 'where' }, k.where),
    make('td', { class: 'number' }, grouped(k.flops)), make('td', { class: 'number' }, grouped(k.bytes)), ...times(k)));
  to.append(make('details', {}, make('summary', {}, list.length + ' kernels of a step'), make('div', { class: 'wide' }, make('table', {}, make('thead', {}, make('tr', {}, ...heads.map(([t, number]) => make('th', { class: number ? 'number' : null }, t)))), make('tbody', {}, ...rows)))));
}

/* ------------------------------------------------------------------ commands and environment */

const shellWord = w => /^[A-Za-z0-9_.,:=@%+/-]+$/.test(w) ? w : "'" + String(w).replace(/'/g, "'\\''") + "'";

function showStarts(r, to) {
  const starts = r.about && Array.isArray(r.about.starts) ? r.about.starts.filter(isObject) : [];
  if (!starts.length) return;
  to.append(make('h3', {}, 'Commands and environment'));
  for (const s of starts) {
    const facts = [['began', s.began], ['from step', s.step], ['in', s.folder], ['processor', s.processor], ['cores', s.cores], ['threads', s.threads], ['ranks', s.ranks > 1 ? s.ranks : null], ['memory', isNumber(s.memory) ? bytesText(s.memory) : null], ['system', s.system], ['compiler', s.compiler]];
    to.append(make('pre', {}, (s.words || []).map(shellWord).join(' ')), make('dl', { class: 'facts' }, ...facts.filter(f => f[1] !== null && f[1] !== undefined).flatMap(([k, v]) => [make('dt', {}, k), make('dd', {}, v)])));
  }
}

function showOne(r) {
  const to = byId('detail');
  to.replaceChildren();
  byId('one-title').textContent = runs.length > 1 ? 'One run: ' + r.title : 'This run';
  if (!r.about) to.append(make('p', { class: 'quiet' }, 'There is no run.json, so layers, memory plan and commands are not known: this run is of an older trainer.'));
  for (const show of [showSamples, showEvaluation, showData, showTime, showLayers, showStrips, showMemory, showPlan, showKernels, showStarts])
    try { show(r, to); } catch (e) { to.append(make('p', { class: 'fault' }, 'A part of run.json is not as this version of Lathe knows it: ' + e.message)); }
}

/* ------------------------------------------------------------------ the start */

const KEPT = 'lathe-report';
function keep() {
  try { sessionStorage.setItem(KEPT, JSON.stringify({ axis: view.axis, smooth: view.smooth, log: view.log, logx: view.logx, whole: view.whole, window: view.window, hidden: [...view.hidden], top: scrollY, chosen: byId('chosen').value })); } catch (e) { /* a page without storage */ }
}

function takeKept() {
  let kept = null;
  try { kept = JSON.parse(sessionStorage.getItem(KEPT)); } catch (e) { /* likewise */ }
  if (!data.watched || !kept) return 0;
  Object.assign(view, { axis: kept.axis, smooth: kept.smooth, log: kept.log, logx: kept.logx, whole: kept.whole, window: kept.window, hidden: new Set(kept.hidden) });
  document.querySelector('input[name=axis][value="' + Number(view.axis) + '"]').checked = true;
  byId('smooth').value = view.smooth, byId('log').checked = view.log, byId('logx').checked = view.logx, byId('whole').checked = view.whole;
  if (kept.chosen) byId('chosen').value = kept.chosen;
  return kept.top;
}

function listen() {
  for (const input of document.getElementsByName('axis')) input.onchange = () => { view.axis = Number(input.value); view.window = null; drawCharts(); };
  byId('smooth').oninput = () => { view.smooth = Number(byId('smooth').value); tellSmoothing(); drawCharts(); };
  byId('log').onchange = () => { view.log = byId('log').checked; drawCharts(); };
  byId('logx').onchange = () => { view.logx = byId('logx').checked; view.window = null; drawCharts(); };
  byId('whole').onchange = () => { view.whole = byId('whole').checked; drawCharts(); };
  byId('reset').onclick = () => setWindow(null, null);
  byId('controls').onsubmit = event => event.preventDefault();
  byId('chosen').onchange = () => showOne(runs[Number(byId('chosen').value)]);
  const recolour = () => { showRuns(); showLegend(); recolourCharts(); redrawPlan(); drawStrips(); };
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', recolour);
  let closed = [];
  const paper = on => () => {
    document.documentElement.classList.toggle('paper', on);
    if (on) closed = [...document.querySelectorAll('#more:not([open]), #settings details:not([open])')];
    for (const d of closed) d.open = on;
    recolour();
  };
  addEventListener('beforeprint', paper(true));
  addEventListener('afterprint', paper(false));
}

const tellSmoothing = () => byId('smoothed').textContent = view.smooth ? (view.smooth / 100).toFixed(2) : 'off';

function watch() {
  if (!data.watched) return;
  addEventListener('pagehide', keep);
  setInterval(() => { if (!document.hidden) keep(), location.reload(); }, runs.some(r => r.state === 'running') ? 5000 : 30000);
}

function start() {
  const title = runs.length === 1 ? runs[0].title : runs.length + ' runs';
  document.title = title + ' – Lathe report';
  byId('title').textContent = title;
  byId('runs-title').textContent = runs.length === 1 ? 'Run' : 'Runs and what differs';
  const model = runs[0].config && runs[0].config.model;
  byId('made').textContent = (runs.length === 1 ? runs[0].folder + (model ? ' · model ' + model + (runs[0].config.config ? ' ' + runs[0].config.config : '') : '') + ' · ' : '') + 'made ' + data.made + (data.watched ? ' · renewed as the run goes on' : '');
  byId('unit').textContent = (runs.find(r => r.unit) || { unit: 'tokens' }).unit;
  byId('faults').append(...runs.flatMap(r => r.faults.map(f => make('p', { class: 'fault' }, f))));
  byId('choose').hidden = runs.length === 1;
  byId('chosen').append(...runs.map((r, i) => make('option', { value: i }, r.title)));
  const top = takeKept();
  tellSmoothing();
  showRuns();
  showLegend();
  showCharts();
  showSettings();
  showOne(runs[Number(byId('chosen').value) || 0]);
  listen();
  watch();
  if (top) scrollTo(0, top);
  document.documentElement.dataset.ready = charts.length;
}
start();
