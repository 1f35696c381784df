// @ts-check
// The address keeps the selection, the filter and the moment, so that it can be sent to somebody.

import { store } from './state.js';

const NAMES = ['q', 'state', 'project', 'wave'];

/** fromAddress reads it once. */
export function fromAddress() {
  const p = new URLSearchParams(location.search);
  for (const n of NAMES) store.filter[n] = p.get(n) || '';
  store.selected = p.get('app') || '';
  const t = Number(p.get('t'));
  if (p.has('t') && Number.isFinite(t) && t >= 0) store.time = t * 1000;
  return p;
}

let written = location.search;
let timer = 0;
/** toAddress writes it, not more often than browsers like. */
export function toAddress() {
  const p = new URLSearchParams();
  for (const n of NAMES) if (store.filter[n]) p.set(n, store.filter[n]);
  if (store.selected) p.set('app', store.selected);
  if (store.time !== null && !store.playing) p.set('t', String(Math.round(store.time / 1000)));
  const text = p.toString() ? '?' + p : '';
  if (text === written || timer) return;
  timer = window.setTimeout(() => { timer = 0; written = text; history.replaceState(null, '', location.pathname + text); toAddress(); }, 250);
}
