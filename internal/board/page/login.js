// @ts-check
// The question for a token, where the server wants one.

import { byId, el } from './dom.js';

/**
 * login returns when the viewer may look.
 * @param {string} how @param {string} why
 */
export function login(how, why) {
  const dialog = byId('dialog');
  dialog.setAttribute('aria-label', 'Sign in');
  return /** @type {Promise<void>} */ (new Promise((resolve) => {
    if (how !== 'token') {
      const text = how === 'argocd' ? 'Sign in to Argo CD in this browser, then load this page again.' : 'The proxy in front of this page must say who you are.';
      dialog.replaceChildren(el('h2', {}, 'You are not signed in'), el('p', {}, why), el('p', {}, text),
        el('button', { type: 'button', class: 'act', onclick: () => { dialog.close(); resolve(); } }, 'Try again'));
      dialog.showModal();
      return;
    }
    const input = el('input', { type: 'password', id: 'token', autocomplete: 'current-password', 'aria-label': 'Token' });
    const said = el('p', { role: 'alert', class: 'late' });
    const form = el('form', { onsubmit: async (e) => {
      e.preventDefault();
      const answer = await fetch('/api/login', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ token: input.value }) });
      if (answer.ok) { dialog.close(); resolve(); return; }
      said.textContent = (await answer.text()).trim();
      input.select();
    } }, el('h2', {}, 'A token is needed'), el('p', {}, 'It is in the file that the server was started with.'), input, said, el('button', { type: 'submit', class: 'act' }, 'Open the board'));
    dialog.replaceChildren(form);
    dialog.oncancel = (e) => e.preventDefault();
    dialog.showModal();
  }));
}
