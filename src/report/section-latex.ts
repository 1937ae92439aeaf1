import { printable } from '../base/printable.ts';
import { type Section, withoutEmptyColumns } from './section.ts';

/** Tables for a paper, which needs `\usepackage{booktabs}`; sentences become comments. Without a final newline. */
export function sectionsLatex(parts: readonly Section[]): string {
  return ['% \\usepackage{booktabs}', ...parts.map(sectionLatex)].join('\n\n');
}

function sectionLatex(section: Section): string {
  const { id, title, head, rows, after = [] } = withoutEmptyColumns(section);
  const line = (cells: readonly string[]): string => `    ${cells.map(escapeLatex).join(' & ')} \\\\`;
  const aligned = head.map(({ align }) => (align === 'right' ? 'r' : 'l'));
  return [
    ...after.map((text) => `% ${printable(text)}`),
    '\\begin{table}',
    '  \\centering',
    `  \\caption{${escapeLatex(title)}}`,
    `  \\label{tab:${id.replaceAll(/[^A-Za-z0-9-]+/g, '-')}}`,
    `  \\begin{tabular}{${aligned.join('')}}`,
    '    \\toprule',
    line(head.map((column) => column.title)),
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
};

/** What plain LaTeX, with its first font encoding, would print as another character. A cell that begins with `[` would be read as an argument of the line break before it. */
const escapeLatex = (text: string): string =>
  printable(text)
    .replaceAll(/[\\~^∞–—−…<>|≤≥≈±×→µ&%$#_{}]/g, (mark) => marks[mark] ?? `\\${mark}`)
    .replace(/^\[/, '{[}');
