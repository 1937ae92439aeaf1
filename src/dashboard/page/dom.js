/** @typedef {Node | string | null} Child */

/**
 * An HTML element. Texts become text, never markup, whatever they hold.
 *
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, string | (() => void)>} attributes `class`, `aria-label` …; functions become listeners
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function html(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/**
 * An SVG element.
 *
 * @template {keyof SVGElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, string | (() => void)>} attributes
 * @param {...Child} children
 * @returns {SVGElementTagNameMap[Tag]}
 */
export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);
}

/**
 * @template {Element} E
 * @param {E} element
 * @param {Record<string, string | (() => void)>} attributes
 * @param {Child[]} children
 * @returns {E}
 */
function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes))
    if (typeof value === 'function') element.addEventListener(name, value);
    else element.setAttribute(name, value);
  element.append(...children.filter((child) => child !== null));
  return element;
}

/**
 * Puts new content into an element, unless it is the same as before: what a person reads or has selected stays.
 *
 * @param {Element} element
 * @param {...Child} children
 */
export function show(element, ...children) {
  const next = document.createElement('div');
  next.append(...children.filter((child) => child !== null));
  if (next.innerHTML === element.innerHTML) return;
  element.replaceChildren(...next.childNodes);
}
