import path from 'node:path';
import type { Env } from '../../base/env.ts';
import { Fault } from '../../fault/fault.ts';
import { unescapePath } from '../../federation/escape-path.ts';
import { parseObjectUrl } from '../../federation/object-url.ts';

/** The last part of an object's path, as a file name; never one that could leave its folder. */
export function objectName(text: string, env: Env): string {
  const url = parseObjectUrl(text, env);
  if (url.kind === 'file') return path.basename(url.file);
  const pathname = unescapePath(url.kind === 'plain' ? new URL(url.href).pathname : url.path);
  const name = path.posix.basename(pathname);
  if (name !== '' && name !== '.' && name !== '..' && !name.includes('\0')) return name;
  throw new Fault('usage', `${url.text} does not say what the file is to be called`, {
    about: url.text,
    fix: 'add the name of the file to write behind the URL',
  });
}

/** Whether a word of the command line is a URL; `C:` and the like are no scheme of ours, a typing error may be. */
export function isUrl(word: string): boolean {
  return /^[A-Za-z][A-Za-z0-9+._-]+:/.test(word);
}

/** A URL one level down, the name escaped so that it means itself. */
export function below(url: string, name: string): string {
  const [base = '', query] = url.split('?', 2);
  const escaped = name.split('/').map(encodeURIComponent).join('/');
  return `${base.replace(/\/+$/, '')}/${escaped}${query === undefined ? '' : `?${query}`}`;
}
