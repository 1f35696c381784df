// @ts-check
// Search and filters.

import { byId, el } from './dom.js';
import { store, laneOf, changed } from './state.js';
import { STATES } from './words.js';

const FIELDS = { 'f-state': 'state', 'f-project': 'project', 'f-wave': 'wave' };
let drawn = -1;

/** startFilter prepares the fields. */
export function startFilter() {
  byId('filters').addEventListener('submit', (e) => e.preventDefault());
  byId('q').addEventListener('input', () => { store.filter.q = byId('q').value.trim().toLowerCase(); changed(); });
  for (const [id, name] of Object.entries(FIELDS)) byId(id).addEventListener('change', () => { store.filter[name] = byId(id).value; changed(); });
}

/** clearFilter shows everything. */
export function clearFilter() {
  Object.assign(store.filter, { q: '', state: '', project: '', wave: '' });
  changed();
}

function options(id, all, list) {
  byId(id).replaceChildren(el('option', { value: '' }, all), ...list.map(([value, text]) => el('option', { value }, text)));
}

/** drawFilters keeps the fields as the filter is. */
export function drawFilters() {
  if (drawn !== store.shape) {
    drawn = store.shape;
    const apps = [...store.apps.values()];
    options('f-state', 'All states', Object.entries(STATES));
    options('f-project', 'All projects', [...new Set(apps.map((a) => a.project).filter(Boolean))].sort().map((p) => [p, p]));
    options('f-wave', 'All waves', [...new Set(apps.map(laneOf).filter((w) => w !== ''))].sort((a, b) => Number(a) - Number(b)).map((w) => [w, 'Wave ' + w]));
  }
  if (document.activeElement !== byId('q')) byId('q').value = store.filter.q;
  for (const [id, name] of Object.entries(FIELDS)) if (byId(id).value !== store.filter[name]) byId(id).value = store.filter[name];
}
