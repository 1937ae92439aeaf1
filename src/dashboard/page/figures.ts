import type { Board } from '../page-data.ts';
import { html, show } from './dom.ts';

/** The tables of the report. Their markup is escaped, and the page's policy lets it run nothing. */
export function figures() {
  const element = html('div', { class: 'numbers' });
  const update = ({ tables }: Board) => {
    const { body } = new DOMParser().parseFromString(tables, 'text/html');
    show(element, ...body.childNodes);
  };
  return { element, update };
}
