import { codeSpans } from '@updraft/base';
import { element, escapeLines, escapeMarkup } from '../charts/svg.ts';
import type { Block, Document } from '../document/document.ts';

/** A page as markup, every text escaped; tables and commands are for other pages. */
export const documentHtml = (document: Document): string => document.map(blockHtml).join('');

function blockHtml(block: Block): string {
  if (typeof block === 'string') return block === '' ? '' : sentence(block);
  if ('columns' in block || 'commands' in block) return '';
  if ('title' in block)
    return block.level === undefined
      ? element('h2', {}, escapeMarkup(block.title))
      : element('h3', { 'data-level': block.level }, escapeMarkup(block.title));
  if ('facts' in block)
    return block.facts
      .filter(({ length }) => length > 1)
      .map(
        ([label, ...texts]) =>
          element('h3', {}, escapeMarkup(label)) +
          texts
            .map((text) => (typeof text === 'string' ? sentence(text) : quote(text.place, text.lines)))
            .join(''),
      )
      .join('');
  const [words = '', ...toWrite] = block.fix.split('\n');
  const places = block.at.map(
    ({ place, lines, message }) => quote(`${place}  ${block.rule}`, lines) + sentence(message),
  );
  return element('div', { class: 'finding' }, ...places, sentence(`fix: ${words}`), pre(toWrite));
}

const sentence = (text: string): string => element('p', {}, inlineHtml(text));

/** A sentence that may contain `code`. */
export const inlineHtml = (text: string): string =>
  codeSpans(escapeMarkup(text), (code) => element('code', {}, code)).join('');

const quote = (place: string, lines: readonly string[]): string =>
  element('p', { class: 'place' }, escapeMarkup(place)) + pre(lines);

const pre = (lines: readonly string[]): string =>
  lines.length === 0 ? '' : element('pre', {}, escapeLines(lines.join('\n')));
