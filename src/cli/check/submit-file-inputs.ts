import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { argumentWords } from '../../adopt/argument-words.ts';
import { attributeOf, isUrl, listOf, placeOf, valueOf, type Batch } from '../../adopt/evidence.ts';
import { shellQuote } from '../../base/shell-quote.ts';
import type { CommandText, SentText } from '../../check/code/code.ts';
import { isObject, type AskedObject } from './ask-objects.ts';

const mostScriptBytes = 1 << 20;

/** What a queue statement runs, as a shell would write it. */
export function commandOf(batch: Batch): CommandText[] {
  const program = valueOf(batch, 'executable');
  if (program === undefined) return [];
  const words = [path.posix.basename(program), ...wordsOf(valueOf(batch, 'arguments') ?? '')];
  return [{ text: words.map(shellQuote).join(' '), place: placeOf(batch, 'executable') }];
}

/** Quoting that HTCondor refuses is the lint's to tell. */
function wordsOf(text: string): string[] {
  try {
    return argumentWords(text);
  } catch {
    return [];
  }
}

/** The scripts that travel with the job; they arrive under their bare names. */
export async function sentTexts(folder: string, all: readonly Batch[]): Promise<SentText[]> {
  const names = all.flatMap((batch) => [
    valueOf(batch, 'executable') ?? '',
    ...listOf(valueOf(batch, 'transfer_input_files')).filter((name) => !isUrl(name)),
  ]);
  const texts: SentText[] = [];
  for (const name of new Set(names.filter((one) => one !== ''))) {
    const content = await readFile(path.resolve(folder, name)).catch(() => undefined);
    if (content === undefined || content.length > mostScriptBytes || content.includes(0)) continue;
    texts.push({ file: path.posix.basename(name), text: content.toString('utf8') });
  }
  return texts;
}

/** Every URL that some job brings along, and its image. */
export function objectsOf(all: readonly Batch[]): AskedObject[] {
  const found = new Map<string, AskedObject>();
  const inputs = all.flatMap(({ queue }) =>
    queue.jobs.flatMap((job) => {
      const batch = { queue, job };
      return listOf(valueOf(batch, 'transfer_input_files')).map((url) => ({ batch, url }));
    }),
  );
  for (const batch of all) {
    const url = imageOf(batch);
    const place = placeOf(batch, 'container_image', 'MY.SingularityImage');
    if (url !== undefined && isObject(url))
      found.set(url, { label: 'image', url, place, declared: {}, isProven: true });
  }
  for (const { batch, url } of inputs)
    if (isObject(url))
      found.set(url, {
        ...{ label: 'input', url, declared: {}, isProven: true },
        place: placeOf(batch, 'transfer_input_files'),
      });
  return [...found.values()];
}

export const imageOf = (batch: Batch): string | undefined =>
  valueOf(batch, 'container_image') ?? attributeOf(batch, 'SingularityImage')?.replaceAll('"', '');
