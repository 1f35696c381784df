// @ts-check
// Waves as lanes from left to right, Applications as cards, and what deploys others as a group with its children.

import { el, icon, stateIcon, setIcon, setText, byId } from './dom.js';
import { store, stateAt, moment, kin, matches, filtering } from './state.js';
import { STATES, clock, count, span, waveName } from './words.js';
import { select } from './detail.js';

/** @typedef {import('./state.js').App} App */
/** @typedef {import('./state.js').State} State */

/** Cards by the key of their Application. @type {Map<string, any>} */
export const cards = new Map();
/** @type {any[]} */
let lanes = [];
let drawn = -1;
let seen = '';

/** density is how large cards are, by how many there are. */
const density = () => (store.apps.size <= 70 ? 'cards' : store.apps.size <= 400 ? 'rows' : 'dots');

/** nameOf is a name whose end is seen even where it does not fit: names of one cluster often begin alike. @param {string} text */
function nameOf(text) {
  const chars = [...text];
  const last = text.length - Math.max(text.lastIndexOf('-'), text.lastIndexOf('.'));
  const tail = chars.length > 12 ? Math.min(Math.max(last, 5), 11) : 0;
  return el('span', { class: 'name' }, el('span', { class: 'head' }, chars.slice(0, chars.length - tail).join('')), tail ? el('span', { class: 'tail' }, chars.slice(-tail).join('')) : '');
}

/** @param {App} app */
function card(app) {
  const mark = stateIcon('unknown');
  const name = nameOf(app.name);
  const age = el('span', { class: 'age' });
  // What lint found matters before the boot.
  const flag = app.findings && store.scene?.mode === 'plan' ? el('span', { class: 'flag', title: count(app.findings, 'warning') }, '▲') : '';
  const note = el('span', { class: 'note' });
  const parts = [mark, name, el('span', { class: 'meta' }, flag, age), note];
  const node = el('button', { type: 'button', class: 'card' + (kin(app.key).length ? '' : ' leaf'), tabindex: -1, data: { key: app.key }, onclick: () => select(app.key) },
    ...parts);
  cards.set(app.key, { node, parts, named: true, mark, name, age, note, app, state: null, text: '', leaf: !kin(app.key).length, bad: false });
  return node;
}

/** item is a card, with those below it. @param {App} app @param {number} depth */
function item(app, depth) {
  const below = kin(app.key);
  if (below.length === 0 || depth > 20) return el('li', {}, card(app));
  const list = el('ul', { class: 'kin' });
  const sorted = [...below].sort((a, b) => a.wave - b.wave || a.name.localeCompare(b.name));
  const several = new Set(sorted.map((a) => a.wave)).size > 1;
  let wave = NaN;
  for (const child of sorted) {
    if (several && child.wave !== wave) list.append(el('li', { class: 'wave' }, `wave ${child.wave}`));
    wave = child.wave;
    list.append(item(child, depth + 1));
  }
  return el('li', { class: 'group' }, card(app), list);
}

/** below are all Applications of a lane. @param {string[]} keys @returns {App[]} */
function below(keys) {
  const out = [];
  const add = (app) => { out.push(app); for (const child of kin(app.key)) if (out.length < 100000) add(child); };
  for (const key of keys) { const app = store.apps.get(key); if (app) add(app); }
  return out;
}

function lane(section, data) {
  const mark = stateIcon('waiting');
  const of = el('span', { class: 'of' }), word = el('span', { class: 'word' }), bar = el('i');
  const title = section.root ? waveName(data) : 'Applications';
  const node = el('section', { class: 'lane', 'aria-label': title },
    el('header', { class: 'lane-head' }, el('div', {}, mark, el('h2', {}, title), word, of), el('div', { class: 'bar' }, bar)),
    el('ul', { class: 'cards' }, ...data.apps.map((key) => store.apps.get(key)).filter(Boolean).map((app) => item(app, 0))));
  const all = below(data.apps);
  // A lane is as wide as its names, if there is room.
  const longest = all.reduce((n, a) => Math.max(n, a.name.length), 0);
  node.style.setProperty('--need', `${Math.min(Math.max(Math.round(longest * 7.8) + 112, 204), 400)}px`);
  const out = { node, mark, of, word, bar, apps: all.filter((a) => !a.set).map((a) => a.key), gate: null, title };
  lanes.push(out);
  return out;
}

function section(data) {
  const head = el('header');
  if (data.root) {
    for (const key of [...(data.above || []), data.root]) {
      const app = store.apps.get(key);
      if (app) head.append(key === data.root && data.above ? '›' : '', card(app));
    }
  } else if ((store.scene?.sections.length || 0) > 1) head.append(el('h2', {}, 'Applications that no other one deploys'));
  const row = el('div', { class: 'row' });
  data.lanes.forEach((l, i) => {
    const made = lane(data, l);
    if (i > 0) {
      made.gate = el('div', { class: 'gate', 'aria-hidden': 'true' }, icon('lock'));
      row.append(made.gate);
    }
    row.append(made.node);
  });
  return el('section', { class: 'section' }, head, row);
}

/** drawLanes draws what has changed. */
export function drawLanes() {
  const scene = store.scene;
  if (!scene) return;
  const box = byId('lanes');
  if (drawn !== store.shape) {
    drawn = store.shape;
    const focused = /** @type {any} */ (document.activeElement)?.dataset?.key;
    cards.clear();
    seen = '';
    lanes = [];
    box.dataset.density = density();
    box.replaceChildren(...(store.apps.size ? scene.sections.map(section) : [el('p', { class: 'empty' }, 'There are no Applications yet. They appear here as soon as they are created.')]));
    const first = cards.get(focused) || cards.values().next().value;
    if (first) first.node.tabIndex = 0;
    if (focused && cards.has(focused)) cards.get(focused).node.focus({ preventScroll: true });
  }
  const t = moment();
  // A search changes neither cards nor waves.
  const key = `${store.shape}|${store.id}|${t}|${store.selected}`;
  if (key !== seen) {
    seen = key;
    for (const c of cards.values()) drawCard(c, t);
    for (const l of lanes) drawLane(l, t);
    raise();
  }
  drawFilter(t);
  if (!placed && store.apps.size) { placed = true; toRunning(); }
}

/** raise puts groups with something that fails first. */
function raise() {
  const groups = new Set();
  for (const c of cards.values()) if (c.state?.is === 'failing') for (let a = store.apps.get(c.app.parent); a && !groups.has(a.key); a = store.apps.get(a.parent)) groups.add(a.key);
  for (const c of cards.values()) {
    if (c.leaf || c.bad === groups.has(c.app.key)) continue;
    c.bad = groups.has(c.app.key);
    c.node.parentElement?.classList.toggle('bad', c.bad);
  }
}

let placed = false;
/** toRunning scrolls to the wave that something happens in. */
export function toRunning() {
  const l = running()[0];
  if (l) l.node.scrollIntoView({ block: 'nearest', inline: 'center' });
}

/** drawCard draws one card. @param {any} c @param {number} t */
function drawCard(c, t) {
  const app = store.apps.get(c.app.key);
  if (!app) return;
  c.app = app;
  const state = stateAt(app, t);
  const age = ageOf(app, state, t);
  if (age !== c.text) { c.text = age; c.age.textContent = age; }
  const current = store.selected === app.key, critical = store.critical.has(app.key);
  const late = state.is === 'waiting' && !!app.planned && app.planned.created >= 0 && t > app.planned.created;
  if (c.state === state && c.current === current && c.critical === critical && c.late === late) return;
  c.state = state; c.current = current; c.critical = critical; c.late = late;
  c.node.dataset.is = state.is;
  if (c.leaf && c.node.parentElement?.tagName === 'LI') c.node.parentElement.dataset.leaf = state.is;
  // A square has nothing inside: thousands of hidden texts cost time with each search.
  const named = !c.leaf || byId('lanes').dataset.density !== 'dots' || ['running', 'failing', 'manual'].includes(state.is);
  if (c.named !== named) { c.named = named; c.node.replaceChildren(...(named ? c.parts : [])); }
  setIcon(c.mark, state.is);
  const note = noteOf(app, state, late);
  setText(c.note, note);
  c.node.setAttribute('aria-label', `${app.set ? 'ApplicationSet ' : ''}${app.name}, ${STATES[state.is]}${note ? ': ' + note : ''}${app.findings && store.scene?.mode === 'plan' ? ', ' + count(app.findings, 'warning') : ''}`);
  c.node.title = `${app.name}\n${STATES[state.is]}${state.health ? ` (${state.health}${state.sync ? ', ' + state.sync : ''})` : ''}${note ? '\n' + note : ''}${critical ? '\non the critical path' : ''}`;
  if (current) c.node.setAttribute('aria-current', 'true'); else c.node.removeAttribute('aria-current');
  if (critical) c.node.dataset.path = ''; else delete c.node.dataset.path;
}

/** ageOf is the time on a card: how long it took to become healthy, or for how long it is what it is. @param {App} app @param {State} state @param {number} t */
function ageOf(app, state, t) {
  if (store.scene?.mode === 'plan') return app.planned && app.planned.healthy >= 0 ? clock(app.planned.healthy) : '';
  if (state.is === 'waiting' || state.is === 'unknown') return '';
  const created = app.history.find((s) => s.is !== 'waiting');
  if (state.is === 'healthy') return created && created.at >= 0 && state.at > created.at ? span(state.at - created.at) : '';
  // Since when it is what it is; running counts from its creation.
  const from = state.is === 'running' && created ? created.at : since(app, state);
  return `for ${span(t - from)}`;
}

/** since is when a state of this word began. @param {App} app @param {State} state */
export function since(app, state) {
  let i = app.history.indexOf(state);
  while (i > 0 && app.history[i - 1].is === state.is) i--;
  return i >= 0 ? app.history[i].at : state.at;
}

/** noteOf is the second line of a card. @param {App} app @param {State} state @param {boolean} late it should have been created */
function noteOf(app, state, late) {
  if (store.scene?.mode === 'plan') return app.note || '';
  if (state.is === 'healthy') return app.set && kin(app.key).length ? 'does not wait for its Applications' : '';
  // Its lane says which wave it waits for.
  if (state.is === 'waiting' && (state.note || '').startsWith('wave ')) return app.planned && app.planned.created >= 0 ? `planned at ${clock(app.planned.created)}${late ? ', late' : ''}` : '';
  if (state.note) return (state.waits?.length ? 'waits for ' : state.is === 'waiting' ? 'waits for ' : '') + state.note;
  if (state.is === 'running' || state.is === 'failing') return [state.health, state.sync].filter(Boolean).join(', ');
  return '';
}

/** drawLane draws the head of a wave. @param {any} l @param {number} t */
function drawLane(l, t) {
  const n = { failing: 0, blocked: 0, manual: 0, running: 0, unknown: 0, waiting: 0, planned: 0, healthy: 0 };
  for (const key of l.apps) { const app = store.apps.get(key); if (app) n[stateAt(app, t).is]++; }
  const all = l.apps.length;
  const started = all - n.waiting - n.planned;
  let is = 'waiting';
  const plan = store.scene?.mode === 'plan';
  if (plan) is = n.failing ? 'failing' : 'planned';
  else if (n.failing) is = 'failing';
  else if (n.blocked) is = 'blocked';
  else if (n.healthy === all) is = 'healthy';
  else if (started > 0) is = n.running || n.waiting ? 'running' : n.manual ? 'manual' : 'unknown';
  l.is = is;
  const key = is + n.healthy + '/' + all + ',' + n.failing;
  if (l.key === key) return;
  l.key = key;
  l.node.dataset.is = is;
  setIcon(l.mark, is);
  setText(l.of, plan ? String(all) : `${n.healthy} of ${all}`);
  setText(l.word, plan && n.failing ? 'broken' : { failing: 'failing', blocked: 'blocked', running: 'running', manual: 'needs action' }[is] || '');
  l.bar.style.width = `${all ? (100 * n.healthy) / all : 0}%`;
  if (l.gate) {
    const open = started > 0 && !plan;
    if (open) l.gate.dataset.open = ''; else delete l.gate.dataset.open;
    l.gate.firstChild.firstChild.setAttribute('href', open ? '#i-open' : '#i-lock');
  }
}

/** running are the waves that something happens in. */
export const running = () => lanes.filter((l) => ['running', 'blocked', 'failing'].includes(l.is));

let filtered = '';
/** drawFilter hides what the filter leaves out. @param {number} t */
function drawFilter(t) {
  const active = filtering();
  const key = active ? JSON.stringify(store.filter) + store.version : '';
  if (key === filtered && filtered === '') return;
  filtered = key;
  let found = 0;
  const shown = new Set();
  for (const c of cards.values()) {
    if (!active || matches(c.app, stateAt(c.app, t))) {
      found++;
      for (let a = c.app; a && !shown.has(a.key); a = store.apps.get(a.parent)) shown.add(a.key);
    }
  }
  for (const c of cards.values()) {
    const item = c.node.parentElement;
    if (item?.tagName === 'LI') item.classList.toggle('off', active && !shown.has(c.app.key));
  }
  for (const node of document.querySelectorAll('.kin > .wave')) node.classList.toggle('off', active);
  for (const l of lanes) {
    const off = active && !l.apps.some((k) => shown.has(k));
    l.node.classList.toggle('off', off);
    l.gate?.classList.toggle('off', off);
  }
  setText(byId('matches'), active ? `${found} of ${cards.size}` : '');
}
