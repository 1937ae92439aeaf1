import { dagKeywords } from './dag-keywords.ts';

/** Whether a file is a DAG: by its name, or by its first command. */
export function isDag(name: string, text: string): boolean {
  if (/\.(sub)?dag$/i.test(name)) return true;
  const first = text.split('\n', maxLines).find((line) => !/^\s*(#|\/\/|$)/.test(line)) ?? '';
  // `job = 3` is a line of a submit file.
  const [, keyword = ''] = /^\s*([A-Za-z_-]+)[ \t]+[^\s=:]/.exec(first) ?? [];
  return dagKeywords[keyword.toUpperCase().replaceAll('-', '_')] !== undefined;
}

/** A longer comment at the start is not skipped. */
const maxLines = 1000;
