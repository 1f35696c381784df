// @ts-check
// The boot as a picture or as JSON, at the moment that is shown.

import { byId, svg } from './dom.js';
import { store, stateAt, moment, kin } from './state.js';
import { STATES, clock, waveName } from './words.js';

/** startExport prepares the menu. */
export function startExport() {
  const menu = byId('export'), button = byId('b-export');
  const show = (open) => { menu.hidden = !open; button.setAttribute('aria-expanded', String(open)); };
  button.addEventListener('click', () => { show(menu.hidden); if (!menu.hidden) menu.querySelector('button')?.focus(); });
  document.addEventListener('click', (e) => { if (!menu.parentElement.contains(e.target)) show(false); });
  menu.addEventListener('click', (e) => {
    const kind = e.target.dataset.export;
    if (kind) { show(false); save(kind); }
  });
}

async function save(kind) {
  const name = `${(store.scene?.title || 'boot').replace(/[^\w.-]+/g, '-')}-${clock(moment()).replaceAll(':', '-')}`;
  if (kind === 'json') return download(new Blob([JSON.stringify({ ...store.scene, shown: Math.round(moment()) }, null, 1)], { type: 'application/json' }), name + '.json');
  const text = picture();
  if (kind === 'svg') return download(new Blob([text], { type: 'image/svg+xml' }), name + '.svg');
  const image = new Image();
  const url = URL.createObjectURL(new Blob([text], { type: 'image/svg+xml' }));
  image.src = url;
  await image.decode();
  const canvas = document.createElement('canvas');
  // Browsers refuse larger ones.
  const scale = Math.min(2, 16000 / Math.max(image.width, image.height));
  canvas.width = image.width * scale;
  canvas.height = image.height * scale;
  canvas.getContext('2d')?.drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(url);
  canvas.toBlob((blob) => blob && download(blob, name + '.png'), 'image/png');
}

function download(blob, name) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/** picture is the board as SVG, without scripts or styles of the page. */
export function picture() {
  const t = moment();
  const probe = document.createElement('i');
  document.body.append(probe);
  const color = (name) => { probe.style.color = `var(--${name})`; return getComputedStyle(probe).color; };
  const W = 230, GAP = 16, ROW = 26;
  const root = svg('svg', { xmlns: 'http://www.w3.org/2000/svg', 'font-family': 'system-ui, sans-serif', 'font-size': 13 });
  const text = (x, y, s, props = {}) => { const n = svg('text', { x, y, fill: color('text'), ...props }); n.textContent = s; root.append(n); };
  const box = (x, y, w, h, fill, props = {}) => root.append(svg('rect', { x, y, width: w, height: h, rx: 8, fill, ...props }));
  const back = svg('rect', { x: 0, y: 0, width: '100%', height: '100%', fill: color('bg') });
  root.append(back);
  text(20, 34, `${store.scene?.title || ''}  ${clock(t)}`, { 'font-size': 18, 'font-weight': 650 });
  text(20, 56, byId('headline').textContent || '', { fill: color('soft') });
  let y = 78, width = 400;
  const cut = (s, n) => (s.length > n ? s.slice(0, n - 1) + '…' : s);
  for (const section of store.scene?.sections || []) {
    let tall = 0;
    section.lanes.forEach((lane, i) => {
      const x = 20 + i * (W + GAP);
      /** @type {[any, number][]} */
      const rows = [];
      const add = (key, depth) => {
        const app = store.apps.get(key);
        if (!app || rows.length > 5000) return;
        rows.push([app, depth]);
        for (const child of kin(key)) add(child.key, depth + 1);
      };
      lane.apps.forEach((key) => add(key, 0));
      box(x, y, W, 40 + rows.length * ROW, color('sunk'));
      text(x + 14, y + 25, section.root ? waveName(lane) : 'Applications', { 'font-weight': 650 });
      rows.forEach(([app, depth], n) => {
        const is = stateAt(app, t).is, top = y + 36 + n * ROW, left = x + 10 + depth * 14;
        box(left, top, W - 20 - depth * 14, ROW - 4, color('raised'), { stroke: color('line') });
        root.append(svg('circle', { cx: left + 12, cy: top + 11, r: 5, fill: is === 'waiting' || is === 'planned' ? 'none' : color(is), stroke: color(is), 'stroke-width': 1.5 }));
        text(left + 24, top + 15, cut(app.name, 26 - depth * 2), { fill: color(is === 'waiting' ? 'soft' : 'text'), 'font-weight': is === 'failing' ? 700 : 400 });
        const title = svg('title'); title.textContent = `${app.name}: ${STATES[is]}`;
        root.lastChild.append(title);
      });
      tall = Math.max(tall, 40 + rows.length * ROW);
      width = Math.max(width, x + W + 20);
    });
    y += tall + 24;
  }
  probe.remove();
  root.setAttribute('width', width);
  root.setAttribute('height', y);
  root.setAttribute('viewBox', `0 0 ${width} ${y}`);
  return new XMLSerializer().serializeToString(root);
}
