// @ts-check
// The panel about one Application: why it waits, its times, its objects by wave, its findings and its spec.

import { el, byId, icon, stateIcon } from './dom.js';
import { store, stateAt, moment, chain, times, changed } from './state.js';
import { STATES, MEANS, clock, span } from './words.js';
import { ask, control } from './source.js';
import { cards } from './lanes.js';
import { finding } from './findings.js';

/** Answers of the server about the Application that is shown. */
let shown = { key: '', why: /** @type {any} */ (null), app: /** @type {any} */ (null), of: '', error: '' };
let drawn = '';
let placed = '';
/** An answer that failed is asked for again after so long. */
const AGAIN = 3000;

/** select shows an Application; "" shows none. @param {string} key */
export function select(key) {
  store.selected = key === store.selected ? '' : key;
  changed();
}

/** load asks the server, again when the state of the Application changes. @param {string} key @param {string} version */
async function load(key, version) {
  if (shown.key === key && shown.of === version) return;
  const first = shown.key !== key;
  shown = first ? { key, why: null, app: null, of: version, error: '' } : { ...shown, of: version };
  const mine = shown;
  try {
    const [why, app] = await Promise.all([ask('why', key), first || !mine.app ? ask('app', key) : mine.app]);
    if (shown === mine) { mine.why = why; mine.app = app; mine.error = ''; }
  } catch (err) {
    if (shown === mine) mine.error = String(/** @type {Error} */ (err).message);
    setTimeout(() => { if (shown === mine) { mine.of = ''; changed(); } }, AGAIN);
  }
  if (shown === mine) { drawn = ''; changed(); }
}

/** drawDetail draws the panel. */
export function drawDetail() {
  const panel = byId('detail');
  const app = store.apps.get(store.selected);
  panel.hidden = !app;
  if (!app) { drawn = ''; placed = ''; return; }
  // The panel takes room; the card stays in sight.
  if (placed !== app.key) { placed = app.key; cards.get(app.key)?.node.scrollIntoView({ block: 'nearest', inline: 'nearest' }); }
  const t = moment();
  const state = stateAt(app, t);
  const newest = app.history.length ? app.history[app.history.length - 1] : null;
  load(app.key, `${newest?.is}|${newest?.note}|${(store.scene?.faults || []).join()}`);
  const path = chain(app, t);
  const key = [app.key, state.at, state.is, state.note, path.map((a) => a.key + stateAt(a, t).is + stateAt(a, t).note), app.history.length, store.scene?.faults, shown.why ? 1 : 0, shown.error].join('|');
  if (key === drawn) return;
  drawn = key;
  const open = new Set([...panel.querySelectorAll('details[open]')].map((d) => d.dataset.part));
  const focused = document.activeElement?.id;
  const scroll = panel.scrollTop;
  panel.replaceChildren(...parts(app, state, path, t, open));
  panel.scrollTop = scroll;
  if (focused) document.getElementById(focused)?.focus();
}

function parts(app, state, path, t, open) {
  const way = [];
  for (let a = app; a; a = store.apps.get(a.parent)) way.unshift(a.parent ? `wave ${a.wave}: ${a.name}` : a.name);
  return [
    el('header', {}, stateIcon(state.is), el('h2', {}, app.name),
      el('button', { type: 'button', class: 'tool', id: 'b-close', title: 'Close (Esc)', onclick: () => select('') }, icon('close'), el('span', { class: 'hide' }, 'Close')),
      el('div', { class: 'where' }, `${app.set ? 'ApplicationSet' : 'Application'} in ${app.namespace}${app.project ? `, project ${app.project}` : ''}`),
      el('div', { class: 'where' }, way.join(' › '))),
    el('p', { class: 'state-line', data: { is: state.is } }, el('b', {}, STATES[state.is]),
      ` ${sentence(app, state)}`),
    actions(app),
    ...why(app, state, path, t),
    ...timesOf(app),
    ...findings(app),
    ...objects(open),
    ...spec(open),
  ];
}

/** sentence says how an Application is. The causes below say why, if they are known. */
function sentence(app, state) {
  if (store.scene?.mode === 'plan') return app.planned && app.planned.healthy >= 0 ? `to become healthy ${clock(app.planned.healthy)} after the start` : MEANS.planned;
  const facts = [state.health, state.sync, state.op ? 'sync ' + state.op : ''].filter(Boolean).join(', ') || MEANS[state.is];
  const said = (shown.key === app.key && shown.why?.causes || []).some((c) => c.text.includes(state.note));
  return facts + (state.note && state.is !== 'waiting' && !(state.waits || []).length && !said ? '. ' + state.note : '');
}

function actions(app) {
  const box = el('div', { class: 'actions' });
  const base = store.scene?.argocd || '';
  if (/^https?:\/\//.test(base) && !app.set) {
    box.append(el('a', { class: 'act', href: `${base.replace(/\/+$/, '')}/applications/${encodeURIComponent(app.namespace)}/${encodeURIComponent(app.name)}`, target: '_blank', rel: 'noopener noreferrer' }, 'Open in Argo CD'));
  }
  if (store.control && store.scene?.mode === 'simulation' && !app.set) {
    const broken = store.scene.faults?.includes(app.key);
    const act = (body) => control({ ...body, at: Math.round(moment()) }).catch((err) => { shown.error = err.message; drawn = ''; changed(); });
    box.append(el('button', { type: 'button', class: 'act', id: 'b-fault', onclick: () => act(broken ? { repair: app.key } : { break: app.key }) }, broken ? 'Repair it' : 'Break it'));
  }
  return box;
}

function why(app, state, path, t) {
  const out = [];
  if (state.is !== 'healthy' && state.is !== 'planned' && path.length > 1) {
    out.push(el('h3', {}, 'What it waits for'), el('ol', { class: 'chain' }, ...path.map((a) => {
      const s = stateAt(a, t);
      return el('li', {}, stateIcon(s.is), a === app ? el('b', {}, a.name) : el('button', { type: 'button', onclick: () => select(a.key) }, a.name),
        el('span', {}, s.note && !(s.waits || []).length ? s.note : STATES[s.is]));
    })));
  }
  if (shown.error) out.push(el('p', { class: 'soft' }, shown.error));
  const causes = shown.key === app.key && shown.why ? shown.why.causes || [] : [];
  if (causes.length && store.time === null || causes.length && state.is === 'failing') {
    out.push(el('h3', {}, 'Why'), ...causes.slice(0, 8).map((c) => el('div', { class: 'cause', data: c.blocks ? {} : { also: '' } },
      el('p', {}, c.text), c.path?.length > 1 ? el('p', { class: 'soft' }, c.path.join(' → ')) : '',
      c.detail && !c.text.includes(c.detail) ? el('p', { class: 'soft' }, c.detail) : '',
      c.fix ? el('p', {}, 'Fix: ' + c.fix) : '',
      c.command?.length ? el('div', { class: 'command' }, el('code', { tabindex: 0 }, c.command.map(quote).join(' '))) : '')));
    if (causes.length > 8) out.push(el('p', { class: 'soft' }, `and ${causes.length - 8} more`));
  }
  const blind = shown.key === app.key && shown.why ? shown.why.notLookedAt || [] : [];
  if (blind.length && causes.length) out.push(el('p', { class: 'soft' }, 'Not read: ' + blind.slice(0, 4).join('; ')));
  return out;
}

const quote = (w) => (/^[\w@%+=:,./-]+$/.test(w) ? w : `'${w.replaceAll("'", `'\\''`)}'`);

function timesOf(app) {
  const real = times(app), plan = app.planned;
  const start = store.scene?.start || 0;
  const at = (ms) => (ms < 0 ? '–' : clock(ms));
  const has = app.history.length > 0;
  const row = (name, key) => {
    const late = has && plan && plan[key] >= 0 && real[key] >= 0 ? real[key] - plan[key] : 0;
    return el('tr', {}, el('th', { scope: 'row' }, name),
      has ? el('td', { title: start && real[key] >= 0 ? new Date(start + real[key]).toLocaleString() : undefined }, at(real[key])) : '',
      plan ? el('td', {}, at(plan[key])) : '',
      has && plan ? el('td', { class: late > 999 ? 'late' : late < -999 ? 'early' : '' }, late > 999 ? '+' + span(late) : late < -999 ? '−' + span(-late) : '') : '');
  };
  if (!has && !plan) return [];
  const hidden = (text) => el('span', { class: 'hide' }, text);
  return [el('h3', {}, 'Times'), el('table', { class: 'facts' },
    el('thead', {}, el('tr', {}, el('td', {}, hidden('what')), has ? el('th', { scope: 'col' }, store.scene?.mode === 'simulation' ? 'this boot' : 'real') : '', plan ? el('th', { scope: 'col' }, 'planned') : '', has && plan ? el('th', { scope: 'col' }, 'later by') : '')),
    el('tbody', {}, row('created', 'created'), row('synced', 'synced'), row('healthy', 'healthy'))),
  app.source ? el('p', { class: 'soft' }, app.source) : ''];
}

function findings(app) {
  const list = (store.scene?.findings || []).filter((f) => f.apps?.includes(app.key));
  const told = list.some((f) => app.note?.endsWith(f.message));
  if (!list.length && !app.note) return [];
  return [el('h3', {}, 'Findings'), app.note && !told ? el('div', { class: 'finding' }, app.note) : '',
    ...list.map((f) => finding(f))];
}

function objects(open) {
  const list = shown.app?.objects || [];
  const note = shown.app?.note, known = store.apps.get(shown.key)?.note || '';
  if (!list.length) return note && !known.includes(note) ? [el('p', { class: 'soft' }, note)] : [];
  const rows = [];
  let wave = '';
  for (const o of list) {
    const name = `${o.phase && o.phase !== 'Sync' ? o.phase + ' ' : ''}wave ${o.wave}`;
    if (name !== wave) rows.push(el('li', { class: 'wave' }, name));
    wave = name;
    rows.push(el('li', {}, el('span', { class: 'kind' }, o.kind), el('span', {}, o.namespace ? `${o.namespace}/${o.name}` : o.name),
      el('span', { class: 'tail' }, [o.health, o.sync === 'Synced' ? '' : o.sync, o.hook ? 'hook' : '', o.waits ? 'waited for' : ''].filter(Boolean).join(', '))));
  }
  if (shown.app.cut) rows.push(el('li', {}, `and ${shown.app.cut} more`));
  return [el('details', { data: { part: 'objects' }, open: open.has('objects') }, el('summary', {}, `Objects (${list.length + (shown.app.cut || 0)})`), el('ul', { class: 'objects' }, ...rows))];
}

function spec(open) {
  if (!shown.app?.spec) return [];
  return [el('details', { data: { part: 'spec' }, open: open.has('spec') }, el('summary', {}, 'Spec'), el('pre', { class: 'spec', tabindex: 0 }, shown.app.spec))];
}
