import { isNamedOtherwise } from '../submit/submit-files.ts';
import { dagKeywords, parseDag } from './parse-dag.ts';

/** Whether a file is a DAG: by its name, or if its first line and most others are commands, one of which has nodes. */
export function isDag(name: string, text: string): boolean {
  if (/\.(sub)?dag$/i.test(name)) return true;
  if (isNamedOtherwise(name)) return false;
  const first = text.split('\n', maxLines).find((line) => !/^\s*(#|\/\/|$)/.test(line)) ?? '';
  // `job = 3` is a line of a submit file.
  const [, keyword = ''] = /^\s*([A-Za-z_-]+)[ \t]+[^\s=:]/.exec(first) ?? [];
  if (dagKeywords[keyword.toUpperCase().replaceAll('-', '_')] === undefined) return false;
  const { commands, errors } = parseDag(text, name);
  return (
    errors.length <= commands.length && commands.some(({ kind }) => kind === 'node' || kind === 'splice')
  );
}

/** A longer comment at the start is not skipped. */
const maxLines = 1000;
