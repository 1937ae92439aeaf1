import { firstFew } from '@updraft/base';
import { causeInfo } from '../codes/causes.ts';
import type { Explanation } from '../diagnosis/explanation.ts';

/** What a retry changes. */
export interface Changes {
  memory: boolean;
  disk: boolean;
  time: boolean;
  /** The user's files that differ from those of the run, the job file included, and whether the retry uses them. */
  files: { changed: readonly string[]; used: boolean };
}

export interface Need {
  /** A sentence: what must change before another attempt can succeed, or that nothing must. */
  what: string;
  /** Whether nothing must change, or the retry changes it; undefined if Updraft cannot know. */
  isMet: boolean | undefined;
}

/** Pure. */
export function whatMustChange({ cause, advice }: Explanation, changes: Changes): Need {
  const { change, advice: usual, outlook } = causeInfo(cause);
  switch (change) {
    case 'memory':
      return resource('memory', '--memory', changes.memory);
    case 'disk':
      return resource('disk', '--disk', changes.disk);
    case 'time':
      return resource('time, or a checkpoint,', '--time', changes.time);
    case 'files':
      return fileNeed(changes.files, cause === 'gpu-memory');
    case 'nothing':
      return { what: 'Nothing: the job was fine.', isMet: true };
    case 'retry':
      return {
        what:
          'Nothing: another try, or another machine, may ' +
          `succeed.${outlook === 'unclear' ? ` If not: ${usual}` : ''}`,
        isMet: true,
      };
    case 'you':
    case 'staff':
      return { what: advice[0] ?? usual, isMet: undefined };
  }
}

const resource = (what: string, option: string, given: boolean): Need => ({
  what: `It needs more ${what} than it had: ${given ? `${option} provides it` : `set ${option}`}.`,
  isMet: given,
});

function fileNeed({ changed, used }: Changes['files'], isGpuMemory: boolean): Need {
  const names = firstFew(changed, 4);
  const verb = changed.length === 1 ? 'has' : 'have';
  const failed = isGpuMemory ? 'It ran out of GPU memory' : 'The training failed';
  const fix = isGpuMemory ? 'use a smaller batch' : 'fix the script, or the command in the job file';
  if (changed.length > 0 && used)
    return { what: `${failed}: ${names} ${verb} changed and will be used.`, isMet: true };
  if (changed.length > 0)
    return {
      what: `${failed}: ${names} ${verb} changed since the run was created; --with-new-files uses the new version.`,
      isMet: false,
    };
  const then = `${fix}, then try again with --with-new-files`;
  const gpu = isGpuMemory ? '; a larger GPU (gpu = { memory = "…" } in [resources]) needs a new run' : '';
  return { what: `${failed}: ${then}${gpu}.`, isMet: false };
}
