// @ts-check
// Light or dark: as the system says, or as the viewer says.

import { changed } from './state.js';

const NAME = 'argosy-theme';

/** startTheme shows what was chosen last. */
export function startTheme() {
  try { const kept = localStorage.getItem(NAME); if (kept) document.documentElement.dataset.theme = kept; } catch { /* nothing is kept */ }
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', changed);
}

/** toggleTheme changes it. */
export function toggleTheme() {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  root.dataset.theme = dark ? 'light' : 'dark';
  try { localStorage.setItem(NAME, root.dataset.theme); } catch { /* nothing is kept */ }
  changed();
}
