import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { SentText } from '../../check/code/code.ts';

/** Larger than any script that people write by hand. */
const mostBytes = 1 << 20;
const mostFiles = 2000;

/** The text files among those sent along; what is large or binary is no code. */
export async function readTexts(
  folder: string,
  files: readonly { path: string; bytes: number }[],
): Promise<SentText[]> {
  const texts: SentText[] = [];
  for (const { path: file, bytes } of files.slice(0, mostFiles)) {
    if (bytes > mostBytes) continue;
    const content = await readFile(path.join(folder, file)).catch(() => undefined);
    if (content !== undefined && !content.includes(0)) texts.push({ file, text: content.toString('utf8') });
  }
  return texts;
}
