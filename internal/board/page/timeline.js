// @ts-check
// The time line: how many Applications were in which state, the moment that is shown, and replay.

import { byId, el, setText } from './dom.js';
import { store, moment, newest, changed } from './state.js';
import { clock } from './words.js';
import { control } from './source.js';

const ORDER = ['healthy', 'running', 'manual', 'blocked', 'failing'];
const RATES = [1, 5, 20, 60, 300];
let drawn = '';
let frame = 0;

/** end is the right end of the time line. */
export const end = () => Math.max(store.scene?.end || 0, newest(), 1000);

/** start prepares the controls. */
export function start() {
  const speed = byId('speed');
  speed.append(...RATES.map((r) => el('option', { value: r, selected: r === store.rate }, `${r}×`)));
  speed.addEventListener('change', () => {
    store.rate = Number(speed.value);
    if (store.scene?.paced) control({ speed: store.rate }).catch(() => {});
  });
  const scrub = byId('scrub');
  scrub.addEventListener('input', () => { store.playing = false; goto((Number(scrub.value) / 1000) * end()); });
  byId('b-play').addEventListener('click', play);
  byId('b-now').addEventListener('click', now);
  new ResizeObserver(() => { drawn = ''; changed(); }).observe(byId('chart'));
}

/** goto shows a moment. @param {number} t */
export function goto(t) {
  store.time = Math.max(0, Math.min(t, newest()));
  changed();
}

/** now shows the newest moment. */
export function now() { store.playing = false; store.time = null; changed(); }

/** step goes to the next or the previous change. @param {number} way 1 or -1 */
export function step(way) {
  const t = moment();
  let best = way > 0 ? Infinity : -Infinity;
  for (const a of store.apps.values()) {
    for (const s of a.history) {
      if (way > 0 && s.at > t + 1 && s.at < best) best = s.at;
      if (way < 0 && s.at < t - 1 && s.at > best) best = s.at;
    }
  }
  store.playing = false;
  if (Number.isFinite(best)) goto(best); else if (way > 0) now();
}

/** play plays the boot, from the beginning if it is over, or stops. */
export function play() {
  if (store.scene?.mode === 'plan') return;
  store.playing = !store.playing;
  if (store.playing && (store.time === null || store.time >= newest())) store.time = 0;
  let before = performance.now();
  const tick = (at) => {
    if (!store.playing) return;
    // Ten pictures a second are enough for a clock.
    if (at - before >= 90) {
      store.time = (store.time || 0) + (at - before) * store.rate;
      before = at;
      if (store.time >= newest()) { store.playing = false; store.time = null; }
      changed();
    }
    frame = requestAnimationFrame(tick);
  };
  cancelAnimationFrame(frame);
  if (store.playing) frame = requestAnimationFrame(tick);
  changed();
}

/** drawTime draws it. */
export function drawTime() {
  const scene = store.scene;
  if (!scene) return;
  const t = moment(), last = end();
  // A plan has no moments.
  document.documentElement.toggleAttribute('data-plan', scene.mode === 'plan');
  const scrub = byId('scrub');
  scrub.disabled = scene.mode === 'plan';
  const value = String(Math.round((1000 * t) / last));
  if (scrub.value !== value && document.activeElement !== scrub || store.playing || store.time === null) scrub.value = value;
  const date = scene.start ? new Date(scene.start + t).toLocaleTimeString() : '';
  scrub.setAttribute('aria-valuetext', clock(t) + (date ? `, ${date}` : ''));
  const box = byId('clock');
  const key = scene.mode + clock(t) + clock(last);
  if (box.dataset.key !== key) { box.dataset.key = key; box.replaceChildren(...(scene.mode === 'plan' ? ['about ' + clock(last)] : [clock(t), el('span', {}, ' / ' + clock(last))])); }
  byId('play-icon').setAttribute('href', store.playing ? '#i-pause' : '#i-play');
  setText(byId('play-text'), store.playing ? 'Pause' : 'Play');
  byId('b-now').setAttribute('aria-pressed', String(store.time === null));
  setText(byId('b-now'), scene.mode === 'live' || scene.paced ? 'Now' : 'End');
  if (scene.paced && scene.speed && document.activeElement !== byId('speed')) {
    const speed = byId('speed');
    if (![...speed.options].some((o) => Number(o.value) === scene.speed)) speed.append(el('option', { value: scene.speed }, `${scene.speed}×`));
    speed.value = String(scene.speed);
  }
  document.documentElement.toggleAttribute('data-still', !store.playing && store.time !== null);
  // The chart changes with the boot, and each second while it goes on.
  const state = `${store.shape}|${store.id}|${Math.floor(last / 1000)}|${document.documentElement.dataset.theme}|${matchMedia('(prefers-color-scheme: dark)').matches}`;
  if (state !== drawn) { drawn = state; chart(last); }
}

/** chart draws how many Applications are in which state, over time. @param {number} last */
function chart(last) {
  const canvas = byId('chart');
  const ratio = window.devicePixelRatio || 1;
  const width = Math.max(1, Math.round(canvas.clientWidth * ratio)), height = Math.max(1, Math.round(canvas.clientHeight * ratio));
  canvas.width = width;
  canvas.height = height;
  const g = canvas.getContext('2d');
  const color = (name) => { probe.style.color = `var(--${name})`; return getComputedStyle(probe).color; };
  const probe = el('i', { class: 'hide' });
  document.body.append(probe);
  const apps = [...store.apps.values()].filter((a) => !a.set);
  const x = (t) => Math.max(0, Math.min(width, Math.round((t / last) * width)));
  const known = x(newest());
  const counts = Object.fromEntries(ORDER.map((is) => [is, new Int32Array(width + 2)]));
  for (const a of apps) {
    a.history.forEach((s, i) => {
      const list = counts[s.is];
      if (!list) return;
      const from = x(s.at), to = i + 1 < a.history.length ? x(a.history[i + 1].at) : known;
      if (to > from) { list[from]++; list[to]--; }
    });
  }
  const top = 18 * ratio, scale = apps.length ? (height - top) / apps.length : 0;
  const base = new Float64Array(width);
  for (const is of ORDER) {
    g.fillStyle = color(is);
    let n = 0;
    for (let i = 0; i < known; i++) {
      n += counts[is][i];
      if (n > 0) { const h = n * scale; g.fillRect(i, height - base[i] - h, 1, h); base[i] += h; }
    }
  }
  if (store.scene?.plan) planned(g, apps, x, height, scale, color('text'), ratio);
  ticks(g, last, x, height, color('soft'), ratio);
  g.fillStyle = color('path');
  for (const l of store.scene?.path || []) g.fillRect(x(l.from), 0, Math.max(1, x(l.to) - x(l.from) - ratio), 3 * ratio);
  probe.remove();
}

/** ticks writes times below the line on top. */
function ticks(g, last, x, height, color, ratio) {
  const step = [1, 5, 10, 30, 60, 300, 600, 1800, 3600, 7200, 21600, 86400, 604800].map((s) => s * 1000).find((s) => x(s) >= 100 * ratio) || last;
  g.fillStyle = color;
  g.font = `${10 * ratio}px ui-monospace, monospace`;
  g.textBaseline = 'top';
  for (let t = step; t < last; t += step) {
    g.globalAlpha = 0.3;
    g.fillRect(x(t), 0, ratio, height);
    g.globalAlpha = 1;
    if (x(t) + 40 * ratio < x(last)) g.fillText(clock(t), x(t) + 4 * ratio, 6 * ratio);
  }
}

/** planned draws how many would be healthy by the plan. */
function planned(g, apps, x, height, scale, color, ratio) {
  const list = apps.map((a) => a.planned?.healthy ?? -1).filter((t) => t >= 0).sort((a, b) => a - b);
  if (!list.length) return;
  g.strokeStyle = color;
  g.globalAlpha = 0.75;
  g.lineWidth = 1.5 * ratio;
  g.setLineDash([4 * ratio, 3 * ratio]);
  g.beginPath();
  g.moveTo(0, height - 1);
  list.forEach((t, i) => { g.lineTo(x(t), height - i * scale - 1); g.lineTo(x(t), height - (i + 1) * scale - 1); });
  g.stroke();
  g.setLineDash([]);
  g.globalAlpha = 1;
}
