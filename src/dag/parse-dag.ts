import type { SourceLine } from '../base/finding.ts';
import { nearest } from '../base/nearest.ts';
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
  const lines = new DagLines(text, file);
  const parsed: ParsedDag = { commands: [], errors: [] };
  for (let line = lines.next(); line !== undefined; line = lines.next()) {
    const { place } = line;
    const [keyword = ''] = line.text.split(/[ \t\r]/, 1);
    const entry = dagKeywords[keyword.toUpperCase().replaceAll('-', '_')];
    try {
      if (entry === undefined) throw new DagSyntax(`\`${keyword}\` is not a DAG command`);
      const words = new DagLexer(line.text);
      words.next();
      parsed.commands.push({ ...entry.read(words, lines), place });
    } catch (error) {
      if (!(error instanceof DagSyntax)) throw error;
      const fix = entry === undefined ? similar(keyword) : `write it as \`${entry.syntax}\``;
      parsed.errors.push({ message: error.message, fix, place });
    }
  }
  const { unfinished } = lines;
  if (unfinished !== undefined)
    parsed.errors.push({
      message: 'the file ends with a `\\`, and DAGMan ignores this command',
      fix: 'delete the `\\`',
      place: unfinished,
    });
  return parsed;
}

function similar(keyword: string): string {
  if (/^(node|data)$/i.test(keyword)) return 'write JOB';
  const close = nearest(keyword, Object.keys(dagKeywords));
  return close === undefined ? 'delete the line, or make it a comment with #' : `did you mean ${close}?`;
}
