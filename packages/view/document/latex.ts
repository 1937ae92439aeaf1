import { printable } from '@updraft/base';
import { type Section, withoutEmptyColumns } from './document.ts';

/** Tables for a paper, with the packages that it needs; sentences become comments. Without a final newline. */
export function sectionsLatex(parts: readonly Section[]): string {
  return ['% \\usepackage[T1]{fontenc}\n% \\usepackage{booktabs}', ...parts.map(sectionLatex)].join('\n\n');
}

function sectionLatex(section: Section): string {
  const { id, title, columns, rows, after = [] } = withoutEmptyColumns(section);
  if (rows.length === 0)
    return [`% ${printable(title)}`, ...after.map((text) => `% ${printable(text)}`)].join('\n');
  const line = (cells: readonly string[]): string => `    ${cells.map(escapeLatex).join(' & ')} \\\\`;
  const aligned = columns.map(({ align }) => (align === 'right' ? 'r' : 'l'));
  return [
    ...after.map((text) => `% ${printable(text)}`),
    '\\begin{table}',
    '  \\centering',
    `  \\caption{${escapeLatex(title)}}`,
    `  \\label{tab:${id.replaceAll(/[^A-Za-z0-9-]+/g, '-')}}`,
    `  \\begin{tabular}{${aligned.join('')}}`,
    '    \\toprule',
    line(columns.map((column) => column.title)),
    '    \\midrule',
    ...rows.map(line),
    '    \\bottomrule',
    '  \\end{tabular}',
    '\\end{table}',
  ].join('\n');
}

const marks: Record<string, string> = {
  '\\': '\\textbackslash{}',
  '~': '\\textasciitilde{}',
  '^': '\\textasciicircum{}',
  '∞': '$\\infty$',
  '–': '--',
  '—': '---',
  '−': '$-$',
  '…': '\\ldots{}',
  '<': '\\textless{}',
  '>': '\\textgreater{}',
  '|': '\\textbar{}',
  '≤': '$\\leq$',
  '≥': '$\\geq$',
  '≈': '$\\approx$',
  '±': '$\\pm$',
  '×': '$\\times$',
  '→': '$\\rightarrow$',
  µ: '$\\mu$',
  '`': '\\textasciigrave{}',
  '"': '\\texttt{\\symbol{34}}',
};

/**
 * What plain LaTeX, with its first font encoding, would print as another character, also two of them as one. A cell
 * that begins with `[` or `*` would be read as an argument of the line break before it.
 */
const escapeLatex = (text: string): string =>
  printable(text)
    .replaceAll(/([-',])(?=\1)|[\\~^∞–—−…<>|≤≥≈±×→µ&%$#_{}`"]/g, (mark, twin?: string) =>
      twin === undefined ? (marks[mark] ?? `\\${mark}`) : `${twin}{}`,
    )
    .replace(/^[[*]/, '{$&}');
