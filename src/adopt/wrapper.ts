import { shellCommands, type ShellCommand } from './shell-commands.ts';

/** A job's shell script, as the rules about wrappers see it. */
export interface Wrapper {
  file: string;
  lines: string[];
  commands: ShellCommand[];
  windowsLines: boolean;
  /** It stops at the first command that fails. */
  stopsOnError: boolean;
  /** A pipe fails when any of its commands does. */
  pipeFails: boolean;
}

/** Reads a shell script; undefined when the text is not one. */
export function readWrapper(file: string, text: string): Wrapper | undefined {
  const first = text.split('\n', 1)[0] ?? '';
  if (!isShell(file, first)) return undefined;
  const commands = shellCommands(text);
  const sets = commands
    .filter(({ words }) => words[0] === 'set')
    .map(({ words }) => words.slice(1).join(' '));
  return {
    file,
    lines: text.split(/\r?\n/),
    commands,
    windowsLines: first.endsWith('\r'),
    stopsOnError:
      sets.some((flags) => /(^|\s)-[a-z]*e/.test(flags) || /errexit/.test(flags)) ||
      /^#!.*\s-[a-z]*e/.test(first),
    pipeFails: sets.some((flags) => /pipefail/.test(flags)),
  };
}

function isShell(file: string, first: string): boolean {
  if (first.startsWith('#!')) return /\b(ba|da|k|z|a)?sh\b/.test(first);
  return /\.(sh|bash)$/.test(file);
}

const work =
  /^(python[\d.]*|torchrun|accelerate|deepspeed|julia|Rscript|matlab|srun|mpirun|apptainer|singularity|java|perl|\.\/.*|\/.*|bash|sh|node|snakemake|gmx|exec)$/;
const cleanUp =
  /^(rm|rmdir|echo|printf|ls|date|mv|cp|mkdir|cd|popd|pushd|deactivate|conda|sleep|touch|du|df|cat|unset|export|tar|zip|gzip|true|:|kill|wait|chmod|hostname|find|module|source|\.)$/;

/** The command that does the job: the last one at the top of the script that is no housekeeping. */
export function mainCommand({ commands }: Wrapper): ShellCommand | undefined {
  const top = commands.filter(({ nested }) => !nested);
  return top.findLast(({ words }) => work.test(words[0] ?? '')) ?? undefined;
}

export const isCleanUp = ({ words }: ShellCommand): boolean => cleanUp.test(words[0] ?? '');
