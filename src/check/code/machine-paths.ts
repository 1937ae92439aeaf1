import type { SourceLine } from '../../base/finding.ts';
import type { JobCode } from './code.ts';

/** A path of one machine that a job's command or code names. */
export interface MachinePath {
  /** As written, such as `~/data` or `/home/ada/data`. */
  text: string;
  place: SourceLine;
  /** `default`: the value of an argument that the command does not pass; `code`: code that may never run. */
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
  const inCommands = commands.flatMap(({ words, place }) =>
    texts.test(words[0] ?? '') ? [] : words.flatMap(pathsIn).map((text) => ({ text, place })),
  );
  const inEnv = env.flatMap(({ value, place }) =>
    value
      .split(':')
      .filter((text) => text.startsWith('/'))
      .map((text) => ({ text, place })),
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
  const all = [...[...inCommands, ...inEnv].map((one) => ({ ...one, by: 'command' as const })), ...inFiles];
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
