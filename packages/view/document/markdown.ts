import { printable, given } from '@updraft/base';
import { type PageVerdict, type Section, withoutEmptyColumns } from './document.ts';

/** Markdown, the verdict first, without a final newline. */
export function sectionsMarkdown(
  title: string,
  parts: readonly Section[],
  verdict?: PageVerdict | null,
): string {
  const { text, line } = verdict ?? {};
  return given(
    `# ${escapeMarkdown(title)}`,
    text !== undefined && escapeMarkdown(text),
    typeof line === 'string' && `    ${printable(line)}`,
    ...parts.map(sectionMarkdown),
  ).join('\n\n');
}

function sectionMarkdown(section: Section): string {
  const { title, columns, rows, after = [] } = withoutEmptyColumns(section);
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const table = [
    line(columns.map((column) => escapeMarkdown(column.title))),
    line(columns.map(({ align }) => (align === 'right' ? '---:' : '---'))),
    ...rows.map((row) => line(row.map(escapeMarkdown))),
  ];
  return [
    `## ${escapeMarkdown(title)}\n\n${table.join('\n')}`,
    ...after.map((text) =>
      text.startsWith('  ') ? `> ${escapeMarkdown(text.trim())}` : escapeMarkdown(text),
    ),
  ].join('\n\n');
}

/** Escapes Markdown and HTML. */
const escapeMarkdown = (text: string): string =>
  printable(text).replaceAll(/[\\`*_[\]<>|#~&!]/g, (mark) => `\\${mark}`);
