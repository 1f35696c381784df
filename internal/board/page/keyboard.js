// @ts-check
// Keys: arrows move between cards, others are shortcuts.

import { byId, el } from './dom.js';
import { store, changed } from './state.js';
import { cards } from './lanes.js';
import { select } from './detail.js';
import { clearFilter } from './filter.js';
import { play, now, step } from './timeline.js';
import { toggleGantt } from './gantt.js';
import { toggleEdges } from './edges.js';
import { toBlocker } from './hero.js';
import { toggleTheme } from './theme.js';
import { showFindings } from './findings.js';

const KEYS = [
  ['/', 'search'], ['← ↑ ↓ →', 'move between Applications'], ['Enter', 'show an Application'], ['Esc', 'close the panel, clear the filter'],
  ['b', 'show what blocks the boot'], ['f', 'findings'], ['e', 'show who waits for whom'], ['t', 'time line of each Application'], ['space', 'play or pause'],
  ['[ ]', 'previous or next change'], ['n', 'newest moment'], ['d', 'light or dark'], ['?', 'these keys'],
];

/** help shows the keys. */
export function help() {
  const dialog = byId('dialog');
  dialog.setAttribute('aria-label', 'Keys');
  dialog.replaceChildren(el('h2', {}, 'Keys'), el('dl', {}, ...KEYS.flatMap(([k, what]) => [el('dt', {}, k), el('dd', {}, what)])),
    el('button', { type: 'button', class: 'act', onclick: () => dialog.close() }, 'Close'));
  dialog.showModal();
}

const ACTIONS = {
  '/': () => byId('q').focus(), b: toBlocker, f: showFindings, e: toggleEdges, t: toggleGantt, ' ': play, n: now, d: toggleTheme, '?': help,
  '[': () => step(-1), ']': () => step(1),
};

/** startKeys listens to keys. */
export function startKeys() {
  document.addEventListener('keydown', (e) => {
    const target = /** @type {HTMLElement} */ (e.target);
    if (e.ctrlKey || e.metaKey || e.altKey || byId('dialog').open) return;
    if (e.key === 'Escape') {
      if (!byId('export').hidden) byId('export').hidden = true;
      else if (store.selected) { const key = store.selected; select(''); cards.get(key)?.node.focus(); }
      else { clearFilter(); target.blur?.(); changed(); }
      return;
    }
    const typing = target.matches('input[type=search], input[type=password], select');
    if (typing || target.matches('input[type=range]') && e.key.startsWith('Arrow')) return;
    if (e.key.startsWith('Arrow')) { if (move(target, e.key)) e.preventDefault(); return; }
    if (e.key === ' ' && target.matches('button, summary, input')) return;
    const act = ACTIONS[e.key];
    if (act) { e.preventDefault(); act(); }
  });
}

/** move moves the focus to the nearest card in a direction, as it is on the screen. @param {HTMLElement} from @param {string} key */
function move(from, key) {
  const shown = [...cards.values()].map((c) => c.node).filter((n) => n.offsetParent);
  if (!shown.length) return false;
  let next = null;
  if (!from.matches('.card')) next = shown.find((n) => n.tabIndex === 0) || shown[0];
  else {
    const here = from.getBoundingClientRect(), lane = from.closest('.lane');
    const across = key === 'ArrowLeft' || key === 'ArrowRight', way = key === 'ArrowRight' || key === 'ArrowDown' ? 1 : -1;
    let best = Infinity;
    for (const n of shown) {
      if (n === from || !across && lane && n.closest('.lane') && n.closest('.lane') !== lane) continue;
      const r = n.getBoundingClientRect();
      const along = way * (across ? r.left - here.left : r.top - here.top), aside = Math.abs(across ? r.top - here.top : r.left - here.left);
      if (along > 6 && along + 3 * aside < best) { best = along + 3 * aside; next = n; }
    }
  }
  if (!next) return false;
  for (const n of shown) if (n.tabIndex === 0) n.tabIndex = -1;
  next.tabIndex = 0;
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  return true;
}
