import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { firstFew, nearest } from '@updraft/base';
import { Fault } from '@updraft/account/fault';
import { isWithin } from '../results/copy-tree.ts';

/** How programs name a file or folder that they did not find. */
const named = [
  /No such file or directory: b?['"]([^'"]+)['"]/,
  /Couldn't find any class folder in (.+?)\.?$/,
  /Found 0 files in subfolders of: (.+?)\.?$/,
  /Unable to find ['"]?([^'"]+?)['"]?$/,
  /^(?:\S+: )?(?:cannot \w+ )?['"]?([^\s'":]+)['"]?: No such file or directory$/,
];

/** The names in a folder, for a message: `train, val and 3 more`. */
export async function listNames(folder: string): Promise<string> {
  return firstFew((await readdir(folder)).sort(), maxNames);
}

const maxNames = 10;

/** A training's fault, with better advice than "fix the script" where its last lines allow it. */
export async function withAdvice(fault: Fault, lines: readonly string[], work: string): Promise<Fault> {
  if (fault.kind !== 'training-failed') return fault;
  const ofStream = lines.flatMap((line) => streamError.exec(line)?.[1] ?? []).at(-1);
  if (ofStream !== undefined) return streamFault(fault, ofStream);
  return await withNeighbors(fault, lines, work);
}

/** How `updraft.Stream` ends a training; a loader's worker reports it first, and the training repeats it. */
const streamError = /^updraft\.StreamError: (?!Caught )(.+)$/;

/** A shard is verified when it arrives: if it is damaged then, it was made so. */
function streamFault(fault: Fault, message: string): Fault {
  if (/ (?:is damaged|is cut off|was cut off)\b/.test(message))
    return new Fault('archive-damaged', message, {
      fix: 'make that shard again, and stage the data set under a new name; the script is fine',
      cause: fault,
    });
  return new Fault(fault.kind, `the data does not suit the training: ${message}`, {
    fix: 'correct the data set, or what the script asks of it',
    cause: fault,
  });
}

/** If the training looked for something that is not there, with what is there instead. */
async function withNeighbors(fault: Fault, lines: readonly string[], work: string): Promise<Fault> {
  const missing = lines.toReversed().flatMap((line) => named.flatMap((one) => one.exec(line)?.[1] ?? []))[0];
  const place = path.resolve(work, missing ?? '');
  if (missing === undefined || !isWithin(place, work) || place === work) return fault;
  let folder = existsSync(place) ? place : path.dirname(place);
  while (!existsSync(folder)) folder = path.dirname(folder);
  const names = await listNames(folder).catch(() => undefined);
  if (names === undefined) return fault;
  const shown = folder === work ? 'the work folder' : path.relative(work, folder);
  const wanted = path.relative(folder, place).split('/')[0] ?? '';
  const close = wanted === '' ? undefined : nearest(wanted, names.split(', '));
  const hint = close === undefined ? '' : ` (did you mean ${path.relative(work, path.join(folder, close))}?)`;
  // Nothing of its path arrived: probably it was not sent.
  const send =
    folder === work && close === undefined
      ? `if ${wanted} is beside the job file, add it to \`files\` in ` +
        '[train], then `updraft retry --with-new-files`; if not, '
      : '';
  return new Fault(fault.kind, `${fault.message}; ${shown} has ${names === '' ? 'nothing in it' : names}`, {
    fix: `${send}name what is there${hint}, or change \`into\` of its [data] table`,
    ...(fault.about === undefined ? {} : { about: fault.about }),
    cause: fault,
  });
}
