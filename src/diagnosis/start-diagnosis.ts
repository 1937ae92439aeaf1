import type { Diagnosis } from './diagnosis.ts';
import { safeLine } from './quote-event.ts';

const meanings: Partial<Record<number, string>> = {
  2: 'a file is missing: the program itself, or the interpreter its first line names',
  8: 'it is not a program for that machine: another processor, or a script without a first line such as #!/bin/sh',
  13: 'it is not executable, or a folder above it is closed',
};

/** Why a program did not start, by the error number of the machine that tried. */
export function startDiagnosis(reason: string, subcode: number | undefined): Diagnosis {
  const program = /execute '([^']+)'/.exec(reason)?.[1]?.replace(/^.*\/dir_\d+\/(?:scratch\/)?/, '');
  const interpreter = /invalid interpreter \(([^)]*)\)/.exec(reason)?.[1];
  const errno = subcode ?? Number(/errno=?\s?(\d+)/.exec(reason)?.[1] ?? 0);
  const meaning = meanings[errno];
  const which = program === undefined ? 'The program' : `The program ${safeLine(program)}`;
  const why =
    interpreter !== undefined
      ? `its first line names ${safeLine(interpreter)}, which the machine does not have`
      : (meaning ?? `the machine answered with error number ${errno}`);
  return {
    cause: 'command-missing',
    because: [`${which} could not be started: ${why}.`],
    outlook: meaning === undefined ? 'unclear' : 'lasting',
    advice:
      meaning === undefined
        ? ['This error number often means a bad machine: another one may do.']
        : [
            'Check that it is sent with the job, executable (chmod +x), with Unix line ends, and that its interpreter is in the image or on the machine.',
          ],
  };
}
