// @ts-check
// The time line of each Application: its states, its planned times, and the critical path. Only rows that are seen are drawn.

import { el, byId } from './dom.js';
import { store, moment, newest, stateAt, matches, filtering, changed } from './state.js';
import { end } from './timeline.js';
import { select } from './detail.js';
import { STATES, clock, span } from './words.js';

const ROW = 24;
let built = false, onlyPath = false, drawn = '';

/** toggle shows or hides it. */
export function toggleGantt() {
  const box = byId('gantt');
  box.hidden = !box.hidden;
  byId('b-gantt').setAttribute('aria-pressed', String(!box.hidden));
  if (!built) build(box);
  drawn = '';
  changed();
}

function build(box) {
  built = true;
  const key = (is, text) => el('span', {}, el('i', { data: { is } }), text);
  box.append(
    el('div', { class: 'gantt-head' }, el('b', { id: 'gantt-title' }),
      el('label', {}, el('input', { type: 'checkbox', id: 'only-path', onchange: (e) => { onlyPath = e.target.checked; drawn = ''; changed(); } }), 'critical path only'),
      el('span', { class: 'legend' }, key('running', 'runs'), key('failing', 'fails'), key('healthy', 'healthy'), el('span', {}, el('i', { class: 'ghost' }), 'planned'), el('span', {}, el('i', { class: 'leg' }), 'critical path'))),
    el('div', { class: 'gantt-body', id: 'gantt-body', tabindex: 0, role: 'group', 'aria-label': 'Rows', onscroll: () => { drawn = ''; changed(); } }, el('div', { class: 'gantt-rows', id: 'gantt-rows' })));
}

/** drawGantt draws the rows that are seen. */
export function drawGantt() {
  const box = byId('gantt');
  if (box.hidden || !store.scene) return;
  const t = moment(), last = end(), body = byId('gantt-body'), rows = byId('gantt-rows');
  const key = `${store.id}|${store.shape}|${body.scrollTop}|${body.clientHeight}|${Math.round((t / last) * 2000)}|${onlyPath}|${JSON.stringify(store.filter)}|${Math.floor(last / 1000)}|${store.selected}`;
  if (key === drawn) return;
  drawn = key;
  let list = [...store.apps.values()].filter((a) => !a.set);
  if (filtering()) list = list.filter((a) => matches(a, stateAt(a, t)));
  if (onlyPath) list = list.filter((a) => store.critical.has(a.key));
  const begin = (a) => a.history.find((s) => s.is !== 'waiting')?.at ?? a.planned?.created ?? Infinity;
  const order = new Map(list.map((a) => [a.key, begin(a)]));
  list.sort((a, b) => (order.get(a.key) || 0) - (order.get(b.key) || 0));
  byId('gantt-title').textContent = store.scene.path?.length ? `Critical path: ${span(store.scene.path.reduce((n, l) => n + l.to - l.from, 0))}` : 'No critical path: the boot is not over';
  rows.style.height = `${list.length * ROW}px`;
  const first = Math.max(0, Math.floor(body.scrollTop / ROW) - 4), count = Math.ceil(body.clientHeight / ROW) + 8;
  const percent = (ms) => `${(100 * Math.max(0, Math.min(ms, last))) / last}%`;
  const known = newest();
  rows.replaceChildren(...list.slice(first, first + count).map((a, i) => {
    const bars = el('div', { class: 'bars' });
    const bar = (kind, from, to, is, title) => {
      const node = el('i', { class: kind, title, data: is ? { is } : {} });
      node.style.left = percent(from);
      node.style.width = `${(100 * Math.max(0, Math.min(to, last) - Math.max(from, 0))) / last}%`;
      bars.append(node);
    };
    if (a.planned && a.planned.created >= 0 && a.planned.healthy >= 0) bar('ghost', a.planned.created, a.planned.healthy, '', `planned ${clock(a.planned.created)} to ${clock(a.planned.healthy)}`);
    for (let n = 0; n < a.history.length; n++) {
      const s = a.history[n];
      while (n + 1 < a.history.length && a.history[n + 1].is === s.is) n++;
      if (s.is === 'waiting' || s.is === 'unknown') continue;
      const to = n + 1 < a.history.length ? a.history[n + 1].at : known;
      // Healthy is the end of a bar, not the rest of the day.
      bar('', s.at, s.is === 'healthy' ? s.at : to, s.is, `${STATES[s.is]} from ${clock(s.at)}${s.note ? ': ' + s.note : ''}`);
    }
    for (const l of store.scene?.path || []) if (l.app === a.key) bar('leg', l.from, l.to, '', `critical path: ${l.what}, ${span(l.to - l.from)}`);
    bar('cursor', t, t, '', '');
    const row = el('div', { class: 'bar-row' }, el('button', { type: 'button', title: a.name, onclick: () => select(a.key) }, a.name), bars);
    row.style.top = `${(first + i) * ROW}px`;
    return row;
  }));
}
