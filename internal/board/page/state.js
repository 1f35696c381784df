// @ts-check
// What the page knows: the scene, the moment that is shown, the selection and the filter. It draws nothing.

/**
 * @typedef {{at: number, is: string, health?: string, sync?: string, op?: string, note?: string, waits?: string[], wave?: number}} State
 * @typedef {{created: number, synced: number, healthy: number}} Times
 * @typedef {{key: string, name: string, namespace: string, set?: boolean, project?: string, parent?: string, wave: number, phase?: string,
 *   needs?: string[], source?: string, planned?: Times, note?: string, findings?: number, history: State[]}} App
 * @typedef {{root?: string, above?: string[], lanes: {phase?: string, wave: number, apps: string[]}[]}} Section
 * @typedef {{app: string, what: string, from: number, to: number}} Leg
 * @typedef {{title: string, mode: string, start: number, now: number, end: number, stale?: string, unknown?: string[], apps: App[],
 *   sections: Section[], path?: Leg[], plan?: boolean, total?: number, findings?: any[], argocd?: string, paced?: boolean, speed?: number,
 *   faults?: string[]}} Scene
 */

/** The moment before an Application was known. @type {State} */
const NOTHING = { at: 0, is: 'unknown' };
/** @type {State} */
const PLANNED = { at: 0, is: 'planned' };

export const store = {
  /** @type {Scene|null} */ scene: null,
  /** @type {Map<string, App>} */ apps: new Map(),
  /** @type {Map<string, App[]>} */ children: new Map(),
  /** Changes of the structure, and of anything. */ shape: 0,
  version: 0,
  /** The moment that is shown; null is the newest. @type {number|null} */ time: null,
  playing: false,
  rate: 20,
  received: 0,
  /** Why the server is not heard; "" is that it is. */ lost: '',
  selected: '',
  edges: false,
  filter: { q: '', state: '', project: '', wave: '' },
  control: '',
  id: '',
  /** @type {Set<string>} */ critical: new Set(),
};

/** @type {(() => void)[]} */
const listeners = [];
/** listen calls f after changes. @param {() => void} f */
export const listen = (f) => listeners.push(f);

let pending = false;
/** changed draws the page again, once for all changes of a moment. */
export function changed() {
  store.version++;
  if (pending) return;
  pending = true;
  requestAnimationFrame(() => { pending = false; for (const f of listeners) f(); });
}

/** setScene replaces everything. @param {Scene} scene @param {string} id */
export function setScene(scene, id) {
  store.scene = scene;
  store.id = id;
  store.apps = new Map(scene.apps.map((a) => [a.key, a]));
  heard(scene.now);
  reshape();
}

/** heard notes that the server lives. @param {number} now */
export function heard(now) {
  if (store.scene) {
    store.scene.now = Math.max(now, 0);
    store.scene.end = Math.max(store.scene.end, store.scene.now);
  }
  store.received = performance.now();
}

/** applyDelta changes what has changed. @param {any} d @param {string} id */
export function applyDelta(d, id) {
  const s = store.scene;
  if (!s) return;
  store.id = id;
  let shape = !!d.sections || !!(d.gone && d.gone.length);
  for (const change of d.apps || []) {
    const old = store.apps.get(change.key);
    if (!old) shape = true;
    const history = old ? old.history.slice(0, change.from).concat(change.history) : change.history;
    if (old && (old.parent !== change.parent || old.project !== change.project)) shape = true;
    delete change.from;
    store.apps.set(change.key, { ...change, history });
  }
  for (const key of d.gone || []) store.apps.delete(key);
  s.title = d.title; s.stale = d.stale; s.unknown = d.unknown; s.path = d.path; s.end = d.end; s.speed = d.speed;
  if (d.sections) s.sections = d.sections;
  s.apps = [...store.apps.values()];
  heard(d.now);
  if (shape) reshape();
  else {
    critical();
    // Cards keep the Application that they are of.
    for (const list of store.children.values()) list.forEach((a, i) => { list[i] = store.apps.get(a.key) || a; });
    changed();
  }
}

function critical() { store.critical = new Set((store.scene?.path || []).map((l) => l.app)); }

function reshape() {
  store.children = new Map();
  for (const a of store.apps.values()) {
    const parent = a.parent && store.apps.has(a.parent) ? a.parent : '';
    if (!store.children.has(parent)) store.children.set(parent, []);
    /** @type {App[]} */ (store.children.get(parent)).push(a);
  }
  critical();
  store.shape++;
  changed();
}

/** newest is the newest moment that is known: a live boot goes on while nothing changes. */
export function newest() {
  const s = store.scene;
  if (!s) return 0;
  return s.mode === 'live' && !s.stale && !store.lost ? s.now + (performance.now() - store.received) : s.now;
}

/** moment is the time that is shown. */
export const moment = () => (store.time === null ? newest() : Math.min(store.time, newest()));

/** stateAt is the state of an Application at a time. @param {App} app @param {number} t @returns {State} */
export function stateAt(app, t) {
  const h = app.history;
  if (h.length === 0) return store.scene?.mode === 'plan' ? plannedState(app) : NOTHING;
  let low = 0, high = h.length;
  while (low < high) {
    const mid = (low + high) >> 1;
    if (h[mid].at <= t) low = mid + 1; else high = mid;
  }
  return low > 0 ? h[low - 1] : h[0].is === 'waiting' ? h[0] : { at: 0, is: 'waiting' };
}

/** @type {WeakMap<App, State>} */
const marked = new WeakMap();

/** plannedState is what a plan says about an Application: it may be broken, or not known. @param {App} app @returns {State} */
function plannedState(app) {
  if (!app.note) return PLANNED;
  if (!marked.has(app)) marked.set(app, { at: 0, is: app.note.startsWith('broken') ? 'failing' : 'unknown', note: app.note });
  return /** @type {State} */ (marked.get(app));
}

/** times are when something happened to an Application. @param {App} app @returns {Times} */
export function times(app) {
  const t = { created: -1, synced: -1, healthy: -1 };
  for (const s of app.history) {
    if (s.is !== 'waiting' && t.created < 0) t.created = s.at;
    if (s.sync === 'Synced' && t.synced < 0) t.synced = s.at;
    if (s.is === 'healthy' && t.healthy < 0) t.healthy = s.at;
  }
  return t;
}

/** kin are the Applications below one. @param {string} key @returns {App[]} */
export const kin = (key) => store.children.get(key) || [];

/** matches reports whether the filter shows an Application. @param {App} app @param {State} state */
export function matches(app, state) {
  const f = store.filter;
  if (f.q && !found(app, state, f.q)) return false;
  if (f.state && state.is !== f.state) return false;
  if (f.project && app.project !== f.project) return false;
  if (f.wave && laneOf(app) !== f.wave) return false;
  return true;
}

/** found reports whether each word is in what is known about an Application; its namespace counts as namespace/name. @param {App} app @param {State} state @param {string} q */
function found(app, state, q) {
  const text = `${app.name} ${app.project || ''} ${state.health || ''} ${state.sync || ''}`.toLowerCase();
  return q.split(/\s+/).every((w) => (w.includes('/') ? `${app.namespace}/${app.name}`.toLowerCase() : text).includes(w));
}

/** filtering reports whether a filter is set. */
export const filtering = () => Object.values(store.filter).some((v) => v !== '');

/** laneOf is the wave of the root that an Application belongs to, "" if it is in none. @param {App} app */
export function laneOf(app) {
  const roots = new Set((store.scene?.sections || []).map((s) => s.root));
  for (let a = app; a; a = /** @type {App} */ (store.apps.get(a.parent || ''))) {
    if (a.parent && roots.has(a.parent)) return String(a.wave);
    if (!a.parent) return '';
  }
  return '';
}

/**
 * chain leads from an Application to the one at the end of what it waits for: one that fails, if there is one.
 * @param {App} app @param {number} t @returns {App[]}
 */
export function chain(app, t) {
  const out = [app], seen = new Set([app.key]);
  for (;;) {
    const last = out[out.length - 1];
    const state = stateAt(last, t);
    let next = (state.waits || []).map((k) => store.apps.get(k)).filter((a) => a && !seen.has(a.key));
    if (state.is === 'waiting' && last.parent && !next.length) next = [store.apps.get(last.parent)].filter((a) => a && !seen.has(a.key));
    if (!next.length || out.length > 30) return out;
    const rank = (a) => ['failing', 'blocked', 'manual', 'unknown', 'running', 'waiting', 'healthy'].indexOf(stateAt(a, t).is);
    next.sort((a, b) => rank(a) - rank(b));
    seen.add(/** @type {App} */ (next[0]).key);
    out.push(/** @type {App} */ (next[0]));
  }
}
