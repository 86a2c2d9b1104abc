/* page_strips.js: gradients and updates of each parameter, step by step: a column for a step, dark where many elements are,
 * low powers of two below. */

const SHOWN_STRIPS = 16, LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const OF_STRIPS = { gradient: '|gradient|', ratio: '|update| / |weight|' };
let strips = [];

const levelAt = (cells, i) => Math.max(0, LETTERS.indexOf(cells[i])) / 63;

function drawStrip(strip) {
  const { canvas, cells, columns, powers } = strip, context = canvas.getContext('2d');
  context.clearRect(0, 0, columns, powers);
  context.fillStyle = colourOf(0);
  for (let c = 0; c < columns; c++) for (let k = 0; k < powers; k++) {
    const level = levelAt(cells, c * powers + k);
    if (level <= 0) continue;
    context.globalAlpha = .12 + .88 * level;
    context.fillRect(c, powers - 1 - k, 1, 1);
  }
  context.globalAlpha = .35;
  context.fillStyle = colourOf(1);
  if (strip.cursor !== null) context.fillRect(strip.cursor, 0, 1, powers);
}

const drawStrips = () => strips.forEach(drawStrip);

/* The power of two that most elements have; null: none of them. */
function commonest(strip, column) {
  let best = null, most = 0;
  for (let k = 0; k < strip.powers; k++) {
    const level = levelAt(strip.cells, column * strip.powers + k);
    if (level > most) most = level, best = k;
  }
  return best === null ? null : strip.from + best;
}

function tellStrip(strip, column, told) {
  const rms = strip.row.rms, at = name => rms && Array.isArray(rms[name]) ? rms[name][column] : null, power = commonest(strip, column);
  const parts = [strip.row.name, 'step ' + numberText(strip.steps[column]), power === null ? OF_STRIPS[strip.of] + ': all are 0' : OF_STRIPS[strip.of] + ' mostly 2^' + power + ' to 2^' + (power + 1)];
  for (const name of ['gradient', 'update', 'weight']) if (isNumber(at(name))) parts.push(name + ' ' + numberText(at(name)));
  told.textContent = parts.join(' · ') + (rms ? ' (root mean squares)' : '');
  strip.cursor = column;
  drawStrip(strip);
}

function leaveStrip(strip) { strip.cursor = null; drawStrip(strip); }

function stripOf(row, of, h, told) {
  const columns = h.steps.length, powers = h.powers, canvas = make('canvas', { width: columns, height: powers, tabindex: 0, role: 'img', class: 'strip' });
  const strip = { canvas, row, of, cells: String(row[of] || ''), columns, powers, from: h.from, steps: h.steps, cursor: null };
  const first = commonest(strip, 0), last = commonest(strip, columns - 1);
  canvas.setAttribute('aria-label', row.name + ': ' + OF_STRIPS[of] + ' mostly ' + (first === null ? '0' : '2^' + first) + ' at step ' + numberText(h.steps[0]) + ', ' + (last === null ? '0' : '2^' + last) + ' at step ' + numberText(h.steps[columns - 1]));
  canvas.onmousemove = event => tellStrip(strip, Math.min(columns - 1, Math.max(0, Math.floor(columns * event.offsetX / Math.max(1, canvas.clientWidth)))), told);
  canvas.onmouseleave = canvas.onblur = () => leaveStrip(strip);
  canvas.onfocus = () => tellStrip(strip, columns - 1, told);
  canvas.onkeydown = event => {
    const way = event.key === 'ArrowLeft' ? -1 : event.key === 'ArrowRight' ? 1 : 0;
    if (!way || event.ctrlKey || event.metaKey || event.altKey) return;
    tellStrip(strip, Math.min(columns - 1, Math.max(0, (strip.cursor === null ? columns - 1 : strip.cursor) + way)), told);
    event.preventDefault();
  };
  canvas.dataset.cells = [...strip.cells].filter(c => c !== 'A').length;
  strips.push(strip);
  return canvas;
}

const lastSize = (row, name) => { const all = row.rms && Array.isArray(row.rms[name]) ? row.rms[name].filter(isNumber) : []; return all.length ? all[all.length - 1] : null; };

function stripRow(row, h, told) {
  const sizes = ['gradient', 'update', 'weight'].map(name => lastSize(row, name)), ratio = sizes[1] !== null && sizes[2] > 0 ? sizes[1] / sizes[2] : null;
  return make('tr', {}, make('th', { scope: 'row' }, make('code', {}, row.name)), ...Object.keys(OF_STRIPS).map(of => make('td', {}, stripOf(row, of, h, told))),
    ...[sizes[0], sizes[2], ratio].map(x => make('td', { class: 'number' }, x === null ? '' : x.toPrecision(3))));
}

function stripTable(rows, h, told) {
  const heads = [['parameter'], ...Object.values(OF_STRIPS).map(t => [t]), ['gradient', 1], ['weight', 1], ['update / weight', 1]];
  return make('div', { class: 'wide' }, make('table', {}, make('thead', {}, make('tr', {}, ...heads.map(([t, number]) => make('th', { class: number ? 'number' : null }, t)))), make('tbody', {}, ...rows.map(row => stripRow(row, h, told)))));
}

function showStrips(r, to) {
  const h = r.histograms;
  strips = [];
  if (!isObject(h) || !Array.isArray(h.rows) || !h.rows.length || !h.steps.length) return;
  const told = make('p', { class: 'quiet told', 'aria-live': 'polite' }, 'Point at a strip, or move in it with the arrow keys.');
  to.append(make('h3', {}, 'Gradients and updates, parameter by parameter'), make('p', { class: 'quiet' }, 'Across: steps ' + numberText(h.steps[0]) + ' to ' + numberText(h.steps[h.steps.length - 1]) + '. Upwards: sizes of elements, from 2^' + h.from + ' to 2^' + (h.from + h.powers) +
    ', darker where more elements are. Gradients are as they come from the loss, before clipping. Numbers: root mean squares at the last of these steps. Of large parameters up to 4,096 elements are counted.'), told, stripTable(h.rows.slice(0, SHOWN_STRIPS), h, told));
  if (h.rows.length > SHOWN_STRIPS) to.append(make('details', {}, make('summary', {}, h.rows.length - SHOWN_STRIPS + ' more parameters'), stripTable(h.rows.slice(SHOWN_STRIPS), h, told)));
  drawStrips();
}
