// @ts-check
// The findings of argosy lint: a list of all of them, and those of one Application.

import { byId, el } from './dom.js';
import { store } from './state.js';
import { count } from './words.js';
import { select } from './detail.js';

/** finding is one of them. @param {any} f @param {any} [more] */
export const finding = (f, more) => el('div', { class: 'finding', data: { severity: f.severity } },
  el('b', {}, `${f.severity} `), more || '', f.message, f.cure ? el('div', { class: 'soft' }, f.cure) : '',
  el('div', { class: 'soft place' }, [f.rule, f.file].filter(Boolean).join(' · ')));

/** showFindings lists all. */
export function showFindings() {
  const list = store.scene?.findings || [];
  if (!list.length) return;
  const dialog = byId('dialog');
  const names = (f) => (f.apps || []).filter((key) => store.apps.has(key)).slice(0, 5).flatMap((key) => [
    el('button', { type: 'button', class: 'link', onclick: () => { dialog.close(); if (store.selected !== key) select(key); } }, store.apps.get(key)?.name), ' ']);
  dialog.setAttribute('aria-label', 'Findings');
  dialog.replaceChildren(el('h2', {}, count(list.length, 'finding')),
    el('div', { class: 'all-findings', tabindex: 0, role: 'group', 'aria-label': 'Findings' }, ...list.map((f) => finding(f, el('span', {}, ...names(f))))),
    el('button', { type: 'button', class: 'act', onclick: () => dialog.close() }, 'Close'));
  dialog.showModal();
}
