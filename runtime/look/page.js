/* page.js: the report's charts, and the table of runs above them.  Data comes as JSON and enters the document as text alone. */
'use strict';
const data = JSON.parse(document.getElementById('data').textContent);
const runs = data.runs, COLOURS = 8, DASHES = [null, [7, 4], [2, 3], [10, 3, 2, 3]];
const view = { axis: 0, smooth: 0, log: false, logx: false, whole: false, window: null, hidden: new Set(), sort: null, down: false };
const byId = id => document.getElementById(id);

/* ------------------------------------------------------------------ the document */

function make(tag, attributes, ...inside) {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(attributes || {})) if (v !== null && v !== undefined && v !== false) e.setAttribute(k, v);
  e.append(...inside.filter(x => x !== null && x !== undefined).map(x => x instanceof Node ? x : String(x)));
  return e;
}

function drawn(tag, attributes, ...inside) {
  const e = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
  e.append(...inside);
  return e;
}

const isNumber = x => typeof x === 'number';
const isObject = x => x !== null && typeof x === 'object' && !Array.isArray(x);
const grouped = n => String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, ',');

function numberText(x) {
  if (!isNumber(x)) return x === null || x === undefined ? '' : String(x);
  if (Number.isInteger(x)) return Math.abs(x) >= 1e4 ? grouped(x) : String(x);
  const size = Math.abs(x);
  return size >= 1e5 || size < 1e-3 ? x.toExponential(3) : String(Number(x.toPrecision(5)));
}

function timeText(s) {
  if (!isNumber(s)) return '';
  if (s < 60) return s.toFixed(1) + ' s';
  const m = Math.floor(s / 60), two = n => String(n).padStart(2, '0');
  return m < 60 ? m + ':' + two(Math.floor(s % 60)) + ' min' : Math.floor(m / 60) + ':' + two(m % 60) + ' h';
}

function bytesText(n) {
  const units = ['bytes', 'KB', 'MB', 'GB', 'TB'];
  let k = 0;
  while (n >= 1000 && k < 4) n /= 1000, k++;
  return (k && n < 100 ? n.toFixed(1) : Math.round(n)) + ' ' + units[k];
}

const ofPage = i => 'var(--c' + i % COLOURS + ')', PAPER = 700; /* pixels across */
const onPaper = () => document.documentElement.classList.contains('paper');
const colourOf = i => getComputedStyle(document.documentElement).getPropertyValue('--c' + i % COLOURS).trim();
const dashOf = i => DASHES[Math.floor(i / COLOURS) % DASHES.length];

/* ------------------------------------------------------------------ runs */

function summed(distances, scale) {
  let at = 0;
  return distances.map(d => (at += d) * scale);
}

const names = new Map();
for (const r of runs) names.set(r.name, (names.get(r.name) || 0) + 1);
runs.forEach((r, i) => {
  r.title = names.get(r.name) > 1 ? r.folder : r.name;
  r.number = i;
  r.at = r.places.map(p => [summed(p[0], 1), summed(p[1], 1), summed(p[2], 1e-3)]);
  for (const s of r.series) s.run = r, s.at = r.at[s.places];
});

/* ------------------------------------------------------------------ settings */

function flattened(value, before, to) {
  for (const [k, v] of Object.entries(value || {}))
    if (isObject(v)) flattened(v, k === 'recipe' || k === 'built_with' ? '' : before + k + '.', to);
    else to.set(before + k, Array.isArray(v) ? v.map(x => isObject(x) ? JSON.stringify(x) : x).join(' ') : v);
  return to;
}

const settings = runs.map(r => flattened(r.config, '', new Map()));
const keys = [...new Set(settings.flatMap(s => [...s.keys()]))];
const differing = runs.length > 1 ? keys.filter(k => settings.some(s => s.get(k) !== settings[0].get(k))) : [];
const settingText = v => v === null || v === undefined ? '–' : isNumber(v) ? String(v) : String(v);

function showSettings() {
  const head = make('tr', {}, make('th', {}, 'setting'), ...runs.map(r => make('th', {}, r.title)));
  const rows = [...differing, ...keys.filter(k => !differing.includes(k))].map(k =>
    make('tr', { class: differing.includes(k) ? 'differs' : null }, make('th', { scope: 'row' }, k),
      ...settings.map(s => make('td', {}, settingText(s.get(k))))));
  const table = make('table', {}, make('thead', {}, head), make('tbody', {}, ...rows));
  byId('all-settings').append(keys.length ? make('details', { open: runs.length === 1 && keys.length < 12 },
    make('summary', {}, differing.length ? differing.length + ' of ' + keys.length + ' differ' : keys.length + ' settings'), table)
    : make('p', { class: 'quiet' }, 'There is no config.json.'));
}

/* ------------------------------------------------------------------ the table of runs */

const seriesOf = (r, split, name) => r.series.find(s => s.split === split && s.name === name);
const whereOf = p => p ? ' at ' + numberText(p[0]) : '';

const TOLD = ['lr', 'optimizer', 'schedule', 'warmup', 'clip', 'decay', 'batch', 'width', 'layers', 'seed'];

function mostTold(names) {
  const rank = k => TOLD.includes(k) ? TOLD.indexOf(k) : TOLD.length;
  return names.filter(k => k !== 'source_hash').sort((a, b) => rank(a) - rank(b)).slice(0, 12);
}

/* Columns: title, what a run has in it, how it is shown, and which way is better (1: less, 0: more). */
function columnsOf() {
  const columns = [{ title: 'state', of: r => r.state, shown: r => r.state }], told = [];
  columns.push({ title: 'step', of: r => r.step, shown: r => numberText(r.step), number: true });
  columns.push({ title: 'time', of: r => r.seconds, shown: r => timeText(r.seconds), number: true });
  for (const name of new Set(runs.flatMap(r => r.series.filter(s => s.split === 'val' && s.less >= 0).map(s => s.name)))) {
    const of = r => { const s = seriesOf(r, 'val', name); return s && (s.less ? s.least : s.greatest); };
    const less = runs.map(r => seriesOf(r, 'val', name)).find(s => s).less;
    columns.push({ title: 'best val ' + name, of: r => of(r) && of(r)[3], better: less, number: true,
      shown: r => of(r) ? numberText(of(r)[3]) + whereOf(of(r)) : '' });
  }
  const loss = r => seriesOf(r, 'train', 'loss'), norm = r => seriesOf(r, 'train', 'grad_norm');
  columns.push({ title: 'last train loss', of: r => loss(r) && loss(r).last && loss(r).last[3], number: true, better: 1,
    shown: r => loss(r) && loss(r).last ? numberText(loss(r).last[3]) : '' });
  if (runs.length > 1)
    columns.push({ title: 'greatest train loss', of: r => loss(r) && loss(r).greatest && loss(r).greatest[3], number: true,
      shown: r => loss(r) && loss(r).greatest ? numberText(loss(r).greatest[3]) + whereOf(loss(r).greatest) : '' });
  columns.push({ title: 'greatest norm', of: r => norm(r) && norm(r).greatest && norm(r).greatest[3], number: true,
    shown: r => norm(r) && norm(r).greatest ? numberText(norm(r).greatest[3]) + whereOf(norm(r).greatest) : '' });
  for (const k of mostTold(differing)) {
    const i = r => settings[r.number].get(k);
    told.push({ title: k, of: i, shown: r => settingText(i(r)), long: true, number: settings.every(s => isNumber(s.get(k))) });
  }
  const few = told.length <= 4; /* few settings stand before results, many behind them */
  if (few || !onPaper()) columns.splice(few ? 1 : columns.length, 0, ...told); /* on paper the table of settings has them */
  return columns.filter(c => runs.some(r => c.shown(r) !== ''));
}

function bestOf(c) {
  const all = runs.map(c.of).filter(isNumber);
  if (c.better === undefined || all.length < 2) return null;
  return c.better ? Math.min(...all) : Math.max(...all);
}

function sorted(columns) {
  const all = [...runs];
  if (view.sort === null) return all;
  const c = columns[view.sort.column], way = view.sort.down ? -1 : 1;
  const rank = x => x === undefined || x === null || x === '' ? 1 : 0;
  return all.sort((a, b) => {
    const x = c.of(a), y = c.of(b);
    if (rank(x) || rank(y)) return rank(x) - rank(y);
    return way * (isNumber(x) && isNumber(y) ? x - y : String(x).localeCompare(String(y)));
  });
}

function showRuns() {
  const columns = columnsOf(), to = byId('summary');
  const active = document.activeElement && document.activeElement.dataset.column;
  if (runs.length === 1) {
    const facts = columns.flatMap(c => [make('dt', {}, c.title), make('dd', { class: 'state-' + (c.title === 'state' ? runs[0].state : '') }, c.shown(runs[0]))]);
    to.replaceChildren(make('dl', { class: 'facts' }, ...facts));
    return;
  }
  const heads = columns.map((c, i) => {
    const b = make('button', { type: 'button', 'data-column': i }, c.title);
    b.onclick = () => { view.sort = { column: i, down: view.sort && view.sort.column === i && !view.sort.down }; showRuns(); };
    const order = view.sort && view.sort.column === i ? (view.sort.down ? 'descending' : 'ascending') : null;
    return make('th', { class: c.number ? 'number' : null, 'aria-sort': order }, b, order ? (view.sort.down ? ' ▾' : ' ▴') : '');
  });
  const best = columns.map(bestOf);
  const rows = sorted(columns).map(r => make('tr', {}, make('th', { scope: 'row' }, swatch(r.number), r.title),
    ...columns.map((c, i) => make('td', { class: (c.number ? 'number ' : '') + (best[i] !== null && c.of(r) === best[i] ? 'best ' : '') +
      (c.title === 'state' ? 'state-' + r.state : ''), title: c.long ? c.shown(r) : null }, c.shown(r)))));
  to.replaceChildren(make('table', {}, make('thead', {}, make('tr', {}, make('th', {}, 'run'), ...heads)), make('tbody', {}, ...rows)));
  if (active !== undefined && active !== null) to.querySelector('[data-column="' + Number(active) + '"]').focus();
}

/* ------------------------------------------------------------------ lines of charts */

const SPLITS = ['train', 'val'];
/* Of one run the kinds of lines have colours; of several, each run has one. */
function lookOf(s) {
  const kind = Math.max(0, SPLITS.includes(s.split) ? SPLITS.indexOf(s.split) : 2);
  const i = runs.length > 1 ? s.run.number : kind;
  return { colour: colourOf(i), dash: dashOf(i), width: kind === 1 ? 2.4 : 1.3, points: kind > 0 };
}

function lineOf(colour, dash, width, points) {
  const svg = drawn('svg', { width: 26, height: 10, 'aria-hidden': 'true' },
    drawn('line', { x1: 0, x2: 26, y1: 5, y2: 5, stroke: colour, 'stroke-width': width, 'stroke-dasharray': dash ? dash.join(' ') : 'none' }));
  if (points) svg.append(drawn('circle', { cx: 13, cy: 5, r: 3.2, fill: colour }));
  return svg;
}
const swatch = i => lineOf(colourOf(i), dashOf(i), 3, false);
const lineOfSeries = s => { const l = lookOf(s); return lineOf(l.colour, l.dash, l.width, l.points); };

function showLegend() {
  const to = byId('legend');
  if (runs.length === 1) { to.replaceChildren(); return; }
  const items = runs.map(r => {
    const box = make('input', { type: 'checkbox' });
    box.checked = !view.hidden.has(r.number);
    box.onchange = () => { box.checked ? view.hidden.delete(r.number) : view.hidden.add(r.number); drawCharts(); };
    return make('li', {}, make('label', {}, box, ' ', swatch(r.number), r.title));
  });
  to.replaceChildren(...items, make('li', { class: 'quiet' }, lineOf('currentColor', null, 1.3, false), 'training ', lineOf('currentColor', null, 2.4, true), 'evaluation'));
}

/* A mean in which a value's weight falls with its distance; the first values are not drawn towards zero. */
function smoothed(values, share) {
  let sum = 0, weight = 0;
  return values.map(v => {
    sum = share * sum + (1 - share) * v;
    weight = share * weight + 1 - share;
    return sum / weight;
  });
}

/* ------------------------------------------------------------------ a chart */

const FIRST = ['loss', 'perplexity', 'accuracy', 'lr', 'grad_norm', 'tok_s', 'rows_s'];
const TITLES = { lr: 'learning rate', grad_norm: 'norm of the gradient', batch: 'batch (rows)', noise_scale: 'gradient noise scale (rows)', tok_s: 'tokens a second', rows_s: 'rows a second',
  data_wait: 'share of time waiting for data' };
const titleOf = name => TITLES[name] || name;
const charts = [];

const isConstant = s => s.odd === 0 && s.n > 0 && s.least[3] === s.greatest[3];
function rankOf(name, list) {
  const i = FIRST.indexOf(name);
  return i >= 0 ? i : list.some(s => s.split === 'val') ? 2.5 : list.some(s => s.split === 'train') ? 20 : 30;
}

function groups() {
  const all = new Map();
  for (const r of runs) for (const s of r.series) {
    const key = s.split === 'train' || s.split === 'val' || s.name === 'loss' ? s.name : s.split + ' ' + s.name;
    all.set(key, [...(all.get(key) || []), s]);
  }
  return [...all].sort((a, b) => rankOf(a[0], a[1]) - rankOf(b[0], b[1]));
}

function rowsOf(lines) {
  const rows = new Map(), columns = lines.reduce((n, l) => n + l.columns.length, 0);
  let k = 1;
  for (const l of lines) for (const values of l.columns) {
    const xs = l.series.at[view.axis];
    values.forEach((v, i) => {
      let x = xs[i];
      if (view.logx && !(x > 0)) return;
      while (rows.has(x) && rows.get(x)[k] !== null) x += 1e-4; /* two values in one millisecond */
      if (!rows.has(x)) rows.set(x, [x, ...Array(columns).fill(null)]);
      rows.get(x)[k] = v;
    });
    k++;
  }
  return [...rows.values()].sort((a, b) => a[0] - b[0]);
}

const faint = colour => colour + '55';

function columnsOfLine(s) {
  return view.smooth && s.values.length > 3 ? [s.values, smoothed(s.values, view.smooth / 100)] : [s.values];
}

/* Where most lines are, as range.c finds it, so that one run that explodes does not flatten all others; null: nothing lies far beyond. */
function usualRange(lines) {
  const bottoms = [], tops = [], all = [], most = lines.reduce((n, l) => Math.max(n, l.series.values.length), 0);
  for (const l of lines) {
    const values = l.series.values.filter(isNumber);
    if (!values.length) continue;
    all.push(...values);
    if (10 * l.series.values.length < most) continue;
    const order = [...values].sort((a, b) => a - b), n = order.length, edge = Math.floor((n - 1) / 20);
    bottoms.push(Math.min(values[0], order[edge]));
    tops.push(Math.max(values[0], order[n - 1 - edge]));
  }
  if (!all.length) return null;
  const byValue = (a, b) => a - b, m = tops.length;
  const from = bottoms.sort(byValue)[Math.floor((m - 1) / 2)], to = tops.sort(byValue)[Math.floor(m / 2)], reach = 4 * (to - from);
  if (!(reach > 0)) return null;
  const near = all.filter(y => y >= from - reach && y <= to + reach);
  if (near.length === all.length) return null;
  const least = near.reduce((a, b) => Math.min(a, b)), greatest = near.reduce((a, b) => Math.max(a, b)), room = .04 * (greatest - least);
  return greatest > least ? [least - room, greatest + room] : null;
}

/* All charts begin and end at the same step: one evaluation is a point at its step. */
function wholeWindow() {
  const seen = charts.flatMap(c => c.series).filter(s => !view.hidden.has(s.run.number) && s.values.length).flatMap(s => s.at[view.axis])
    .filter(x => isNumber(x) && !(view.logx && x <= 0));
  const least = seen.reduce((a, b) => Math.min(a, b), Infinity), greatest = seen.reduce((a, b) => Math.max(a, b), -Infinity), room = .01 * (greatest - least);
  if (!(greatest > least)) return null;
  return view.logx ? [least, greatest] : [least - room, greatest + room];
}

function optionsOf(chart, lines) {
  const ink = getComputedStyle(document.documentElement), line = ink.getPropertyValue('--line').trim();
  const positive = lines.every(l => l.series.n === 0 || l.series.least[3] > 0);
  const series = {}, colors = [];
  chart.range = view.whole || (view.log && positive) ? null : usualRange(lines);
  let k = 0;
  for (const l of lines) l.columns.forEach((_, i) => {
    const raw = l.columns.length > 1 && i === 0;
    series['y' + k++] = { strokePattern: l.look.dash, strokeWidth: raw ? 1 : l.look.width, drawPoints: !raw && l.look.points && l.series.values.length < 200, pointSize: 2.6 };
    colors.push(raw ? faint(l.look.colour) : l.look.colour);
  });
  return { labels: ['x', ...colors.map((_, i) => 'y' + i)], colors, series, logscale: view.log && positive, connectSeparatedPoints: true,
    axisLineColor: line, gridLineColor: line, gridLineWidth: .5, highlightCircleSize: 4, animatedZooms: false, drawGapEdgePoints: true,
    axes: { x: { axisLabelFormatter: x => axisText(x), pixelsPerLabel: 70, logscale: view.logx },
      y: { axisLabelFormatter: y => shortText(y), axisLabelWidth: 58, pixelsPerLabel: 32, includeZero: false } },
    xRangePad: 4, yRangePad: 8, legend: 'never', dateWindow: view.window || wholeWindow(), valueRange: chart.range,
    underlayCallback: (context, area, g) => drawMarks(context, area, g, lines) };
}

function shortText(y) {
  const size = Math.abs(y);
  if (size >= 1e9) return Number((y / 1e9).toPrecision(3)) + 'G';
  if (size >= 1e6) return Number((y / 1e6).toPrecision(3)) + 'M';
  if (size >= 1e4) return Number((y / 1e3).toPrecision(3)) + 'k';
  if (size && size < 1e-3) return y.toExponential(1);
  return String(Number(y.toPrecision(4)));
}

const axisText = x => view.axis === 2 ? (x < 600 ? Number(x.toPrecision(3)) + ' s' : x < 36000 ? Number((x / 60).toPrecision(3)) + ' min' : Number((x / 3600).toPrecision(3)) + ' h') : shortText(x);

/* A cross at the top where a value was NaN or infinite. */
function drawMarks(context, area, g, lines) {
  for (const l of lines) for (const m of l.series.marks) {
    const x = g.toDomXCoord(m[view.axis]), y = area.y + 7;
    if (!(x >= area.x && x <= area.x + area.w)) continue;
    context.save();
    context.strokeStyle = l.look.colour;
    context.lineWidth = 2;
    context.beginPath();
    for (const way of [-1, 1]) context.moveTo(x - 4, y - 4 * way), context.lineTo(x + 4, y + 4 * way);
    context.stroke();
    context.setLineDash([2, 4]);
    context.lineWidth = .8;
    context.beginPath();
    context.moveTo(x, y + 5);
    context.lineTo(x, area.y + area.h);
    context.stroke();
    context.restore();
  }
}

function nearest(xs, x) {
  let low = 0, high = xs.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (xs[middle] < x) low = middle + 1; else high = middle;
  }
  return low > 0 && x - xs[low - 1] < xs[low] - x ? low - 1 : low;
}

function tell(chart, x) {
  const over = view.axis === 2 ? timeText(x) : (view.axis ? byId('unit').textContent : 'step') + ' ' + numberText(Math.round(x));
  const parts = chart.lines.filter(l => l.series.values.length).map(l => {
    const i = nearest(l.series.at[view.axis], x), last = l.columns[l.columns.length - 1][i];
    return make('span', {}, lineOfSeries(l.series), (runs.length > 1 ? l.series.run.title + ' ' : '') + l.series.split + ' ', make('b', {}, numberText(last)));
  });
  chart.readout.replaceChildren(make('span', {}, over), ...parts);
}

function rest(chart) {
  const odd = chart.lines.filter(l => l.series.odd);
  const parts = runs.length === 1 || odd.length ? chart.lines.map(l => {
    const s = l.series, where = s.marks.length ? ' at step ' + numberText(s.marks[0][0]) : '';
    if (runs.length > 1 && !s.odd) return null;
    return make('span', {}, lineOfSeries(s), (runs.length > 1 ? s.run.title + ' ' : '') + s.split + ' ', s.last ? make('b', {}, numberText(s.last[3])) : '',
      s.odd ? ' ✕ ' + numberText(s.odd) + ' not finite, the first' + where : '');
  }) : [];
  if (chart.range) parts.push(make('span', { class: 'quiet' }, 'values far beyond are cut off: “whole range” draws them'));
  chart.readout.replaceChildren(...parts.filter(p => p));
}

function setWindow(window, from) {
  view.window = window;
  for (const c of charts) if (c.g && c !== from) c.g.updateOptions({ dateWindow: window });
}

function drawChart(chart) {
  chart.lines = chart.series.filter(s => !view.hidden.has(s.run.number)).map(s => ({ series: s, columns: columnsOfLine(s), look: lookOf(s) }));
  chart.rows = rowsOf(chart.lines);
  if (chart.g) chart.g.destroy();
  chart.g = null;
  chart.canvas.replaceChildren();
  if (!chart.rows.length) {
    chart.canvas.append(make('p', { class: 'quiet' }, 'No finite value to draw.'));
    rest(chart);
    return;
  }
  const options = optionsOf(chart, chart.lines);
  options.zoomCallback = (low, high) => setWindow(chart.g.isZoomed('x') ? [low, high] : null, chart);
  options.highlightCallback = (event, x) => tell(chart, x);
  options.unhighlightCallback = () => rest(chart);
  if (matchMedia('(pointer: coarse)').matches) options.interactionModel = {}; /* touching scrolls the page */
  chart.g = new Dygraph(chart.canvas, chart.rows, options);
  chart.canvas.dataset.points = chart.lines.reduce((n, l) => n + l.series.values.length, 0);
  rest(chart);
}

function drawCharts() { charts.forEach(drawChart); }

/* On the same canvases: new ones stay empty on paper. */
function recolourCharts() {
  for (const c of charts) if (c.g) c.lines.forEach(l => l.look = lookOf(l.series)), c.g.updateOptions(optionsOf(c, c.lines)), rest(c);
}

/* ------------------------------------------------------------------ the keyboard */

function moved(chart, share, factor) {
  const [low, high] = chart.g.xAxisRange(), middle = (low + high) / 2 + share * (high - low), half = (high - low) / 2 * factor;
  const window = [middle - half, middle + half];
  chart.g.updateOptions({ dateWindow: window });
  setWindow(window, chart);
}

function moveCursor(chart, by) {
  const [low, high] = chart.g.xAxisRange(), seen = chart.rows.map((r, i) => i).filter(i => chart.rows[i][0] >= low && chart.rows[i][0] <= high);
  if (!seen.length) return;
  const at = seen.indexOf(chart.cursor), stride = Math.max(1, Math.round(seen.length / 100));
  chart.cursor = seen[at < 0 ? (by > 0 ? 0 : seen.length - 1) : Math.min(seen.length - 1, Math.max(0, at + by * stride))];
  chart.g.setSelection(chart.cursor);
  tell(chart, chart.rows[chart.cursor][0]);
}

function onKey(chart, event) {
  if (!chart.g || event.ctrlKey || event.metaKey || event.altKey) return;
  const way = event.key === 'ArrowLeft' ? -1 : event.key === 'ArrowRight' ? 1 : 0;
  if (way && event.shiftKey) moved(chart, .25 * way, 1);
  else if (way) moveCursor(chart, way);
  else if (event.key === '+' || event.key === '=') moved(chart, 0, .5);
  else if (event.key === '-') moved(chart, 0, 2);
  else if (event.key === '0' || event.key === 'Escape') setWindow(null, null);
  else return;
  event.preventDefault();
}

function addChart(name, series) {
  const chart = { name, series, canvas: make('div', { class: 'canvas', tabindex: 0, role: 'img' }), readout: make('div', { class: 'readout', 'aria-live': 'polite' }) };
  const told = series.map(s => s.run.title + ' ' + s.split + (s.last ? ': last ' + numberText(s.last[3]) + ', least ' + numberText(s.least[3]) + ', greatest ' + numberText(s.greatest[3]) : ''));
  chart.canvas.setAttribute('aria-label', titleOf(name) + '. ' + told.slice(0, 8).join('; '));
  chart.canvas.addEventListener('keydown', event => onKey(chart, event));
  byId('grid').append(make('div', { class: 'chart' }, make('h3', {}, titleOf(name)), chart.canvas, chart.readout));
  charts.push(chart);
}

function showCharts() {
  const constant = [];
  for (const [name, list] of groups())
    if (list.every(isConstant) && !list.some(s => s.split === 'val' && s.less >= 0) && name !== 'loss') constant.push(...list.map(s => [name, s]));
    else addChart(name, list);
  if (!charts.length) byId('grid').append(make('p', { class: 'quiet' }, 'There are no numbers to draw yet.'));
  byId('more').hidden = constant.length === 0;
  byId('constant').append(make('table', {}, make('tbody', {}, ...constant.map(([name, s]) =>
    make('tr', {}, make('th', { scope: 'row' }, titleOf(name)), make('td', {}, s.run.title + ' ' + s.split), make('td', { class: 'number' }, numberText(s.least[3])))))));
  drawCharts();
}
