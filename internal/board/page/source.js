// @ts-check
// The connection to the server: the first scene, then a stream of changes. It connects again by itself, and says so while it cannot.

import { store, setScene, applyDelta, heard, changed } from './state.js';

/** Without a sign of life for so long, the server is lost. */
const SILENCE = 25000;
let wait = 500;
/** @type {EventSource|null} */
let events = null;
let last = 0;

/** connect keeps the page up to date. @param {(how: string, why: string) => Promise<void>} login */
export async function connect(login) {
  try {
    const answer = await fetch('/api/scene', { cache: 'no-store' });
    if (answer.status === 401) {
      // Somebody who may not look any more keeps nothing, neither on the page nor in its memory.
      if (store.scene) { location.reload(); return; }
      await login(answer.headers.get('Argosy-Login') || '', (await answer.text()).trim());
      return connect(login);
    }
    if (!answer.ok) throw new Error((await answer.text()).trim() || answer.statusText);
    const first = await answer.json();
    store.control = first.control || '';
    setScene(first.scene, first.id);
    open(login);
  } catch (err) {
    lose(login, err instanceof TypeError ? 'the server does not answer' : String(/** @type {Error} */ (err).message));
  }
}

function open(login) {
  events?.close();
  const source = new EventSource('/api/events?since=' + encodeURIComponent(store.id));
  events = source;
  const alive = () => {
    last = performance.now();
    wait = 500;
    if (store.lost) { store.lost = ''; changed(); }
  };
  source.onopen = alive;
  source.addEventListener('scene', (e) => { alive(); setScene(JSON.parse(e.data), e.lastEventId); });
  source.addEventListener('delta', (e) => { alive(); applyDelta(JSON.parse(e.data), e.lastEventId); });
  source.addEventListener('beat', (e) => { alive(); heard(JSON.parse(e.data).now); changed(); });
  source.onerror = () => { if (events === source) lose(login, 'the connection to the server is lost'); };
}

function lose(login, why) {
  events?.close();
  events = null;
  if (!store.lost) { store.lost = why; changed(); }
  store.lost = why;
  setTimeout(() => connect(login), wait);
  wait = Math.min(wait * 2, 8000);
}

/** guard notices a server that is silent. @param {(how: string, why: string) => Promise<void>} login */
export function guard(login) {
  setInterval(() => {
    if (events && performance.now() - last > SILENCE) lose(login, 'the server is silent');
  }, 5000);
}

/** ask asks about an Application. @param {string} path @param {string} app */
export async function ask(path, app) {
  const answer = await fetch(`/api/${path}?app=${encodeURIComponent(app)}`, { cache: 'no-store' });
  if (!answer.ok) throw new Error((await answer.text()).trim() || answer.statusText);
  return answer.json();
}

/** control changes a simulation. @param {any} body */
export async function control(body) {
  const answer = await fetch('/api/simulate', {
    method: 'POST', headers: { 'Content-Type': 'application/json', 'Argosy-Control': store.control }, body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error((await answer.text()).trim());
}
