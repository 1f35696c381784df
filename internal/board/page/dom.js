// @ts-check
// Small helpers for the page. Text from the cluster becomes text nodes, never markup.

/** @param {string} id @returns {any} */
export const byId = (id) => document.getElementById(id);

/**
 * el makes an element. Children are elements or text.
 * @param {string} tag
 * @param {Record<string, any>} [props] attributes; on… are listeners, data is dataset
 * @param {...any} children
 * @returns {any}
 */
export function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else if (name === 'data') Object.assign(node.dataset, value);
    else node.setAttribute(name, value === true ? '' : String(value));
  }
  node.append(...children.filter((c) => c !== null && c !== undefined && c !== false));
  return node;
}

const SVG = 'http://www.w3.org/2000/svg';

/** @param {string} tag @param {Record<string, any>} props @returns {any} */
export function svg(tag, props = {}) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(props)) node.setAttribute(name, String(value));
  return node;
}

/** icon is one of the pictures in the page. @param {string} name @param {string} [kind] */
export function icon(name, kind = 'icon') {
  const node = svg('svg', { class: kind, 'aria-hidden': 'true' });
  node.append(svg('use', { href: '#i-' + name }));
  return node;
}

/** stateIcon is the mark of a state. @param {string} is */
export function stateIcon(is) {
  const node = icon(is, 'st');
  node.dataset.is = is;
  return node;
}

/** setIcon changes a mark. @param {any} node @param {string} is */
export function setIcon(node, is) {
  if (node.dataset.is === is) return;
  node.dataset.is = is;
  node.firstChild.setAttribute('href', '#i-' + is);
}

/** setText changes a text, if it is another one. @param {any} node @param {string} text */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}
