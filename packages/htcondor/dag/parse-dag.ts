import { nearest, type SourceLine } from '@updraft/base';
import type { DagCommand } from './dag-command.ts';
import { dagKeywords } from './dag-keywords.ts';
import { DagLexer, DagSyntax } from './dag-lexer.ts';
import { DagLines } from './dag-lines.ts';

/** A line that DAGMan refuses. */
export interface DagSyntaxError {
  message: string;
  fix: string;
  place: SourceLine;
}

/** The commands of one DAG file, and the lines that DAGMan refuses. */
export interface ParsedDag {
  commands: DagCommand[];
  errors: DagSyntaxError[];
}

/** Reads the text of a DAG file as DAGMan does, and goes on after a line that it refuses. Never throws. */
export function parseDag(text: string, file: string): ParsedDag {
  if (text.slice(0, 200).startsWith('\ufffd\ufffd') && text.includes('\0'))
    return noDag(file, 'it is in UTF-16: save it as UTF-8');
  if (text.includes('\0')) return noDag(file, 'it is a binary file');
  const lines = new DagLines(text, file);
  const parsed: ParsedDag = { commands: [], errors: [] };
  if (text.startsWith('\ufeff'))
    parsed.errors.push({
      message: 'an invisible byte order mark begins the file: DAGMan refuses its first line',
      fix: String.raw`save it as UTF-8 without BOM: sed -i '1s/^\xEF\xBB\xBF//' FILE`,
      place: { file, line: 1 },
    });
  let unknown = 0;
  for (let line = lines.next(); line !== undefined; line = lines.next()) {
    const { place } = line;
    const words = new DagLexer(line.text, place);
    const keyword = words.first();
    const entry = dagKeywords[keyword] ?? dagKeywords[keyword.toUpperCase().replaceAll('-', '_')];
    try {
      if (entry === undefined) {
        unknown += 1;
        throw new DagSyntax(`\`${keyword}\` is not a DAG command`);
      }
      parsed.commands.push(entry.read(words, lines));
    } catch (error) {
      if (!(error instanceof DagSyntax)) throw error;
      const fix = entry === undefined ? similar(keyword) : `write it as \`${entry.syntax}\``;
      parsed.errors.push({ message: error.message, fix, place });
    }
  }
  if (unknown > parsed.commands.length + maxTypos)
    return noDag(file, `${unknown} of its lines are not DAG commands`);
  const { unfinished } = lines;
  if (unfinished !== undefined)
    parsed.errors.push({
      message: 'the file ends with a `\\`, and DAGMan ignores this command',
      fix: 'delete the `\\`',
      place: unfinished,
    });
  return parsed;
}

/** A short DAG may have this many wrong lines and no right one. */
const maxTypos = 3;

/** Something else that was named by mistake: its lines are not worth a message each. */
const noDag = (file: string, why: string): ParsedDag => ({
  commands: [],
  errors: [
    {
      message: `this is not a DAG: ${why}`,
      fix: 'name the file that you pass to condor_submit_dag',
      place: { file, line: 1 },
    },
  ],
});

function similar(keyword: string): string {
  if (/^(node|data)$/i.test(keyword)) return 'write JOB';
  const close = nearest(keyword, Object.keys(dagKeywords));
  return close === undefined ? 'delete the line, or make it a comment with #' : `did you mean ${close}?`;
}
