import { kinds, type FaultKind } from '../fault/kinds.ts';
import type { Explanation } from './explanation.ts';

/** What a retry brings along. */
export interface Changes {
  memory: boolean;
  disk: boolean;
  time: boolean;
  /** Files of the user's that are not as the run has them, and whether they are to be used. */
  files: { changed: readonly string[]; used: boolean };
}

export interface Need {
  /** In a sentence: what must change for another attempt to end better, or that nothing must. */
  what: string;
  /** Whether nothing must change, or the retry brings the change along; undefined where nobody can know. */
  isMet: boolean | undefined;
}

const ofFiles = new Set([
  ...['training-failed', 'wrong-output', 'exit-code', 'signal', 'output-missing', 'command-missing'],
]);
const ofMemory = new Set(['memory-exceeded']);
const ofDisk = new Set(['disk-exceeded', 'disk-full']);
const ofTime = new Set(['time-limit']);
const ofNobody = new Set(['none', 'user', 'interrupted']);

/** What must change before a job that stands so is tried again. Pure. */
export function whatMustChange({ cause, because, advice }: Explanation, changes: Changes): Need {
  // An attempt that outgrew its memory is killed, and may tell no more than that.
  if (ofMemory.has(cause) || isOutOfMemory(because)) return resource('memory', '--memory', changes.memory);
  if (ofDisk.has(cause)) return resource('disk', '--disk', changes.disk);
  if (ofTime.has(cause)) return resource('time, or a checkpoint,', '--time', changes.time);
  if (ofFiles.has(cause)) return fileNeed(changes.files);
  if (ofNobody.has(cause)) return { what: 'Nothing: nothing was wrong with it.', isMet: true };
  const [first] = advice;
  if (isLasting(cause) && first !== undefined) return { what: first, isMet: undefined };
  return { what: 'Nothing: such trouble passes, or is not met on another machine.', isMet: true };
}

const isOutOfMemory = (because: readonly string[]): boolean =>
  because.some((sentence) => /out of memory|MemoryError|cannot allocate memory/i.test(sentence));

const resource = (what: string, option: string, given: boolean): Need => ({
  what: `It needs more ${what} than it was given: ${given ? `${option} says how much` : `say how much with ${option}`}.`,
  isMet: given,
});

function fileNeed({ changed, used }: Changes['files']): Need {
  const names = `${changed.slice(0, 4).join(', ')}${changed.length > 4 ? ` and ${changed.length - 4} more` : ''}`;
  const verb = changed.length === 1 ? 'has' : 'have';
  const failed = 'The training itself failed';
  if (changed.length > 0 && used)
    return { what: `${failed}: ${names} ${verb} changed and will be used.`, isMet: true };
  if (changed.length > 0)
    return {
      what: `${failed}: ${names} ${verb} changed since the run was made; --with-new-files uses that.`,
      isMet: false,
    };
  return { what: `${failed}: mend the script, then try again with --with-new-files.`, isMet: false };
}

function isLasting(cause: Explanation['cause']): boolean {
  if (cause in kinds) return kinds[cause as FaultKind].retry === 'never';
  return !['evicted', 'disconnected', 'silent-end', 'server-failed', 'machine-broken'].includes(cause);
}
