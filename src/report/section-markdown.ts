import { printable } from '../base/printable.ts';
import type { Section } from './sections.ts';

/** Sections as Markdown; ends without a line end. */
export function sectionMarkdown(title: string, parts: readonly Section[]): string {
  return [`# ${escapeMarkdown(title)}`, ...parts.map(one)].join('\n\n');
}

function one({ title, head, rows, after = [] }: Section): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const table = [
    line(head.map((column) => escapeMarkdown(column.title))),
    line(head.map(({ align }) => (align === 'right' ? '---:' : '---'))),
    ...rows.map((row) => line(row.map(escapeMarkdown))),
  ];
  return [
    `## ${escapeMarkdown(title)}\n\n${table.join('\n')}`,
    ...after.map((text) =>
      text.startsWith('  ') ? `> ${escapeMarkdown(text.trim())}` : escapeMarkdown(text),
    ),
  ].join('\n\n');
}

/** Text from a log as text: neither markup of Markdown nor of HTML. */
const escapeMarkdown = (text: string): string =>
  printable(text).replaceAll(/[\\`*_[\]<>|#~&!]/g, (mark) => `\\${mark}`);
