import type { SourceLine } from '@updraft/base';
import type { JobCode } from './code.ts';

/** A path of one machine that a job's command or code names. */
export interface MachinePath {
  /** As written, such as `~/data` or `/home/ada/data`. */
  text: string;
  place: SourceLine;
  /** `default`: the value of an argument that the command does not pass; `code`: code that may never run, may fail, or runs in an image. */
  by: 'command' | 'default' | 'code';
  /** Code writes there. */
  isWritten?: boolean;
}

/** Folders that images and workers have too, or that only serve as scratch there. */
const everywhere =
  /^\/(?:dev|proc|sys|bin|sbin|usr|lib\w*|etc|opt|tmp|var|run|cvmfs|staging|hdfs|srv)(?:\/|$)/;
const start = /^(?:~|\$HOME|\$\{HOME\}|\/[\w.@+-]*\w)(?:\/|$)/;
/** Caches and settings that programs create where they are missing. */
const hidden = /^(?:~|\$HOME|\$\{HOME\}|\/(?:home|Users)\/[^/]+|\/root)\/\.|^(?:~|\$HOME|\$\{HOME\})\/?$/;

const isMachinePath = (text: string): boolean =>
  start.test(text) && !everywhere.test(text) && !hidden.test(text) && !/[*?\n]/.test(text);

/** Commands whose words are patterns or texts, not files. */
const texts = /^(?:echo|printf|sed|awk|grep|export|alias|trap|exit|mkdir|curl|wget)$/;

/** Commands that only ask whether a file is there. */
const tests = /^(?:test|\[\[?)$/;
/** Commands whose words are mostly paths inside an image. */
const containers = /^(?:docker|podman|singularity|apptainer)$/;

/** What else shows which paths are those of this machine. */
export interface PathContext {
  /** The variables that the job sets. */
  env?: readonly { value: string; place: SourceLine }[];
  /** The job's own folder, wherever it is. */
  folder?: string;
}

/** The paths of one machine in what a job runs. */
export function machinePaths(
  { commands, files }: JobCode,
  { env = [], folder }: PathContext = {},
): MachinePath[] {
  const setsHome = commands.some(({ words }) => /^(?:export )?HOME=/.test(words.join(' ')));
  const tested = commands.flatMap(({ words }) => (tests.test(words[0] ?? '') ? words.flatMap(pathsIn) : []));
  const inCommands = commands.flatMap(({ words, before, place }, index): MachinePath[] => {
    const [program = ''] = words;
    const mayFail = before === '||' && commands[index + 1]?.words[0] !== 'exit';
    const isUnsure = (text: string): boolean => mayFail || containers.test(program) || tested.includes(text);
    return texts.test(program)
      ? []
      : words.flatMap(pathsIn).map((text) => ({ text, place, by: isUnsure(text) ? 'code' : 'command' }));
  });
  const inEnv = env.flatMap(({ value, place }) =>
    value
      .split(':')
      .filter((text) => text.startsWith('/'))
      .map((text) => ({ text, place, by: 'command' as const })),
  );
  const passed = new Set(commands.flatMap(({ words }) => words.map((word) => word.replace(/=.*$/s, ''))));
  const inFiles = files.flatMap((file): MachinePath[] => {
    if (file.kind !== 'python') return [];
    const { args, paths, saves } = file.script;
    return paths.flatMap(({ text, line }): MachinePath[] => {
      const arg = args.find((one) => one.default === text);
      if (arg !== undefined && passed.has(arg.flag)) return [];
      const by = arg === undefined ? 'code' : 'default';
      const isWritten = saves.some(({ name }) => name.startsWith(text));
      return [{ text, place: { file: file.file, line }, by, isWritten }];
    });
  });
  const all = [...inCommands, ...inEnv, ...inFiles];
  const isOwn = (text: string): boolean => folder !== undefined && `${text}/`.startsWith(`${folder}/`);
  return all.filter(
    ({ text }) => isOwn(text) || (isMachinePath(text) && !(setsHome && /^(?:~|\$)/.test(text))),
  );
}

/** A word itself, or what stands after `--option=`, `NAME=` or a redirection. */
const pathsIn = (word: string): string[] => [
  word
    .replace(/^\d*[<>]+&?/, '')
    .replace(/^[\w-]+=["']?/, '')
    .replace(/["']$/, ''),
];
