import { codeSpans } from '@updraft/base';

type Child = Node | string | null;

/** `class`, `aria-label` …; functions become listeners. */
type Attributes = Record<string, string | number | (() => void)>;

/** Strings become text, never markup. */
export const html = <Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[Tag] => fill(document.createElement(tag), attributes, children);

/** The nodes of a sentence that may contain `code`. */
export const prose = (sentence: string): Child[] => codeSpans(sentence, (code) => html('code', {}, code));

/** A control with its name. */
export const tool = (label: string, input: HTMLElement): HTMLElement =>
  html('span', { class: 'tool' }, html('label', { for: input.id }, label), input);

/** The element that markup of ours is. */
export const fromMarkup = (svg: string): Element =>
  document.importNode(new DOMParser().parseFromString(svg, 'image/svg+xml').documentElement, true);

function fill<E extends Element>(element: E, attributes: Attributes, children: Child[]): E {
  for (const [name, value] of Object.entries(attributes))
    if (typeof value === 'function') element.addEventListener(name, value);
    else element.setAttribute(name, String(value));
  element.append(...children.filter((child) => child !== null));
  return element;
}

/** Replaces the content of an element unless it is the same, so that a selection survives. */
export function show(element: Element, ...children: Child[]): void {
  const next = document.createElement('div');
  next.append(...children.filter((child) => child !== null));
  if (next.innerHTML === element.innerHTML) return;
  element.replaceChildren(...next.childNodes);
}
