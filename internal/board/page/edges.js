// @ts-check
// Lines between cards: who deploys, who is waited for, who is needed. For the selection, or for all that wait.

import { byId, svg } from './dom.js';
import { store, stateAt, moment, changed } from './state.js';
import { cards } from './lanes.js';

const MOST = 300;

/** toggleEdges shows or hides them. */
export function toggleEdges() {
  store.edges = !store.edges;
  byId('b-edges').setAttribute('aria-pressed', String(store.edges));
  changed();
}

/** drawEdges draws them. */
export function drawEdges() {
  const overlay = byId('overlay');
  const board = byId('board');
  byId('edge-key').hidden = !store.edges;
  if (!store.edges) { if (overlay.firstChild) overlay.replaceChildren(); return; }
  const t = moment();
  /** @type {[string, string, string][]} */
  const list = [];
  const of = (app) => {
    if (app.parent) list.push([app.parent, app.key, 'parent']);
    for (const key of stateAt(app, t).waits || []) list.push([app.key, key, 'waits']);
    for (const key of app.needs || []) list.push([app.key, key, 'needs']);
  };
  const one = store.apps.get(store.selected);
  if (one) {
    of(one);
    for (const a of store.apps.values()) {
      if (a.parent === one.key) list.push([one.key, a.key, 'parent']);
      if (stateAt(a, t).waits?.includes(one.key)) list.push([a.key, one.key, 'waits']);
      if (a.needs?.includes(one.key)) list.push([a.key, one.key, 'needs']);
    }
  } else {
    for (const a of store.apps.values()) {
      for (const key of stateAt(a, t).waits || []) list.push([a.key, key, 'waits']);
      for (const key of a.needs || []) list.push([a.key, key, 'needs']);
    }
  }
  const origin = board.getBoundingClientRect();
  const place = (key) => {
    const node = cards.get(key)?.node;
    if (!node || !node.offsetParent) return null;
    const r = node.getBoundingClientRect();
    return { left: r.left - origin.left + board.scrollLeft, right: r.right - origin.left + board.scrollLeft, y: r.top - origin.top + board.scrollTop + Math.min(r.height / 2, 18) };
  };
  overlay.style.width = `${board.scrollWidth}px`;
  overlay.style.height = `${board.scrollHeight}px`;
  overlay.replaceChildren(...list.slice(0, MOST).flatMap(([a, b, kind]) => {
    const from = place(a), to = place(b);
    if (!from || !to) return [];
    const right = to.left >= from.right - 1;
    const x1 = right ? from.right : from.left, x2 = right ? to.left : to.left;
    const bend = Math.max(30, Math.abs(x2 - x1) / 2);
    return [svg('path', { class: 'e-' + kind, d: `M${x1} ${from.y} C${x1 + (right ? bend : -bend)} ${from.y} ${x2 - bend} ${to.y} ${x2} ${to.y}` }),
      svg('circle', { class: 'e-' + kind, cx: x2, cy: to.y, r: 4 })];
  }));
}
