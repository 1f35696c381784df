// @ts-check
// The top of the page: counts, progress, and one sentence that says where the boot stands and what blocks it.

import { el, byId, stateIcon, setText } from './dom.js';
import { store, stateAt, moment, chain, changed } from './state.js';
import { STATES, MEANS, count, some, span, clock } from './words.js';
import { running, cards } from './lanes.js';
import { select } from './detail.js';

/** @typedef {import('./state.js').App} App */

/** blocker is the Application that others wait for and that does not move; "" is none. */
export let blocker = '';
let last = '', seen = '';

/** drawHero draws it. */
export function drawHero() {
  const scene = store.scene;
  if (!scene) return;
  const t = moment();
  drawMode(scene);
  const same = `${store.shape}|${store.id}|${t}|${store.filter.state}`;
  if (same === seen) return;
  seen = same;
  const apps = [...store.apps.values()].filter((a) => !a.set);
  /** @type {Record<string, App[]>} */
  const by = Object.fromEntries(Object.keys(STATES).map((is) => [is, []]));
  for (const a of apps) by[stateAt(a, t).is].push(a);
  // A set that fails is no Application, and yet not all is well.
  if (!by.failing.length) by.failing = [...store.apps.values()].filter((a) => a.set && stateAt(a, t).is === 'failing');
  const said = headline(apps, by, t);
  document.title = `${by.failing.length ? '✗ ' : by.healthy.length === apps.length && apps.length ? '✓ ' : ''}${scene.title} · Argosy`;
  setText(byId('title'), scene.title || 'Argosy');
  const key = said.text + said.small + JSON.stringify(Object.values(by).map((l) => l.length)) + store.filter.state;
  if (key === last) return;
  last = key;
  byId('headline').replaceChildren(el('bdi', {}, said.text), said.small ? el('small', {}, ' ' + said.small[0].toUpperCase() + said.small.slice(1)) : '');
  byId('hero-icon').replaceChildren(stateIcon(said.is));
  byId('b-why').hidden = !blocker;
  const findings = scene.findings?.length || 0;
  byId('b-findings').hidden = !findings;
  setText(byId('b-findings'), count(findings, 'finding'));
  const shown = ['healthy', 'running', 'manual', 'blocked', 'failing', 'unknown', 'planned', 'waiting'].filter((is) => by[is].length);
  byId('meter').replaceChildren(...shown.map((is) => {
    const bar = el('i', { data: { is } });
    bar.style.flexGrow = String(by[is].length);
    return bar;
  }));
  byId('meter').setAttribute('aria-label', shown.map((is) => `${by[is].length} ${STATES[is]}`).join(', '));
  byId('counts').replaceChildren(...shown.map((is) => el('button', {
    type: 'button', class: 'count', title: MEANS[is], data: { is }, 'aria-pressed': store.filter.state === is,
    onclick: () => { store.filter.state = store.filter.state === is ? '' : is; changed(); },
  }, stateIcon(is), el('b', {}, by[is].length.toLocaleString('en')), STATES[is])));
}

/** @param {import('./state.js').Scene} scene */
function drawMode(scene) {
  const mode = byId('mode');
  const lost = store.lost || scene.stale;
  setText(mode, lost ? 'stale' : scene.mode);
  mode.dataset.mode = scene.mode;
  if (lost) mode.dataset.lost = ''; else delete mode.dataset.lost;
  document.documentElement.toggleAttribute('data-stale', !!lost);
  const notice = byId('notice');
  const parts = [];
  if (store.lost) parts.push(`The newest state is not known: ${store.lost}. This is the last one that was received. Connecting again…`);
  else if (scene.stale) parts.push(`The newest state is not known: ${scene.stale}. This is the last one.`);
  if (scene.unknown?.length && !scene.stale) parts.push(`Not seen: ${scene.unknown.join('; ')}`);
  setText(notice, parts.join(' '));
  notice.hidden = parts.length === 0;
}

/**
 * headline says where the boot stands.
 * @param {App[]} apps @param {Record<string, App[]>} by @param {number} t
 */
function headline(apps, by, t) {
  const scene = /** @type {any} */ (store.scene);
  blocker = '';
  if (!apps.length) return { is: 'unknown', text: 'There are no Applications yet', small: '' };
  if (scene.mode === 'plan') {
    const broken = apps.filter((a) => a.note?.startsWith('broken')).length;
    const unknown = apps.filter((a) => a.note?.startsWith('unknown')).length + [...store.apps.values()].filter((a) => a.set && a.note).length;
    return { is: broken ? 'failing' : unknown ? 'unknown' : 'planned', text: `${count(apps.length, 'Application')} will boot in ${unknown ? 'at least' : 'about'} ${span(scene.total)}`,
      small: [broken ? `${broken} broken` : '', unknown ? `${unknown} not known completely` : ''].filter(Boolean).join(', ') };
  }
  if (by.failing.length) {
    // The one that most others wait for is the one to look at.
    /** @type {Map<string, string[]>} */
    const waits = new Map(by.failing.map((a) => [a.key, []]));
    for (const a of apps) {
      const is = stateAt(a, t).is;
      if (is === 'healthy' || is === 'failing') continue;
      const end = chain(a, t).at(-1);
      if (end) waits.get(end.key)?.push(is);
    }
    const behind = (a) => waits.get(a.key) || [];
    const worst = by.failing.reduce((a, b) => (behind(b).length > behind(a).length ? b : a));
    blocker = worst.key;
    const n = behind(worst).length, blocked = behind(worst).filter((is) => is === 'blocked').length;
    const held = [blocked ? `${blocked} blocked` : '', n > blocked ? `${(n - blocked).toLocaleString('en')} waiting` : ''].filter(Boolean).join(' and ');
    const note = stateAt(worst, t).note || stateAt(worst, t).health;
    const more = by.failing.length - 1;
    return { is: 'failing', text: `${worst.name} ${n ? 'blocks the boot' : 'fails'}`,
      small: [note ? note + '.' : '', n ? `Behind it: ${held}.` : '', more ? `${more} more ${more === 1 ? 'fails' : 'fail'}.` : ''].filter(Boolean).join(' ') };
  }
  if (by.healthy.length === apps.length) {
    const end = Math.max(...apps.map((a) => stateAt(a, t).at));
    const took = end > 0 ? ` after ${span(end)}` : '';
    const plan = scene.plan && end > 0 && scene.mode !== 'simulation' ? `planned ${span(scene.total)}` : '';
    return { is: 'healthy', text: `All ${count(apps.length, 'Application')} are healthy${took}`, small: plan };
  }
  const active = running();
  const busy = by.running.filter((a) => !(stateAt(a, t).waits || []).length);
  if (active.length && (busy.length || by.running.length)) {
    const where = active.length === 1 ? `${active[0].title} runs` : `${some(active.map((l) => l.title), 2)} run`;
    return { is: 'running', text: where, small: busy.length ? `waiting for ${some(busy.map((a) => a.name))}` : '' };
  }
  if (by.running.length && by.healthy.length) return { is: 'running', text: `${by.healthy.length} of ${count(apps.length, 'Application')} healthy`, small: 'the next wave is about to begin' };
  if (by.manual.length) return { is: 'manual', text: `${some(by.manual.map((a) => a.name))} ${by.manual.length === 1 ? 'needs' : 'need'} action`, small: 'sync or resume by hand' };
  if (by.unknown.length) return { is: 'unknown', text: `The state of ${count(by.unknown.length, 'Application')} is not known`, small: '' };
  return { is: 'waiting', text: 'The boot has not begun', small: scene.plan ? `planned: ${clock(scene.total)}` : '' };
}

/** toBlocker shows the blocker. */
export function toBlocker() {
  if (!blocker) return;
  if (store.selected !== blocker) select(blocker);
  cards.get(blocker)?.node.scrollIntoView({ block: 'nearest', inline: 'center' });
}
