import type { Termination } from '@updraft/htcondor/eventlog';

const signals: Partial<Record<number, string>> = {
  4: 'its machine lacks an instruction that it uses: it was built for a newer processor',
  6: 'it stopped itself, usually after it printed an error',
  7: 'it could not access its memory, often because a disk or /dev/shm was full',
  9: 'often because memory ran out',
  11: 'it accessed invalid memory: a bug in it or in a library',
  15: 'it was asked to end, by the pool, a time limit or a person',
};

/** How a program ended, in the words of `why` and `report`. */
export const exitWords = (termination: Termination): string =>
  termination.normal
    ? `exited with code ${termination.returnValue}`
    : `was killed by signal ${termination.signal}`;

/** What an exit code or a signal usually means, in a sentence; undefined if that depends on the program. */
export function exitMeaning(termination: Termination): string | undefined {
  if (!termination.normal) {
    const why = signals[termination.signal];
    return why === undefined ? undefined : `Signal ${termination.signal}: ${why}.`;
  }
  const { returnValue } = termination;
  if (returnValue === 126) return 'Shells use this code when a command cannot be executed.';
  if (returnValue === 127) return 'Shells use this code when a command is not found.';
  const why = signals[returnValue - 128];
  if (why === undefined) return undefined;
  return `Shells use this code when a command was killed by signal ${returnValue - 128}: ${why}.`;
}
