import { anyOf, type SourceLine } from '@updraft/base';
import path from 'node:path';
import { shellCommands, type ShellCommand } from '@updraft/htcondor/lint';
import { localModules, isLocalModule } from '../../script/python-imports.ts';
import { readScript, type ScriptFacts } from '../../script/read-script.ts';

/** Follows a job's commands through the scripts and Python files that they run and import. */
export function readCode(commands: readonly CommandText[], sent: readonly SentText[]): JobCode {
  const reader = new CodeReader(sent);
  for (const { text, place } of commands) reader.shell(text, () => place);
  return {
    commands: reader.commands,
    files: [...reader.files.values()],
    texts: [...commands.map(({ text }) => text), ...sent.map(({ text }) => text)],
    isKnown: reader.files.size > 0,
  };
}

/** Commands that read or copy the files they name, but run none of them. */
const onlyHandlesFiles = new RegExp(
  `^(?:${anyOf(String.raw`
    cp mv rm ln ls cat chmod touch tar zip unzip gzip gunzip head tail grep wc diff cmp md5sum sha\d+sum
    scp rsync echo printf test \[{1,2}
  `)})$`,
);

class CodeReader {
  readonly commands: RunCommand[] = [];
  readonly files = new Map<string, CodeFile>();
  readonly #sent: readonly SentText[];

  constructor(sent: readonly SentText[]) {
    this.#sent = sent;
  }

  /** Reads shell text; `whereSet` maps its lines to places. */
  shell(text: string, whereSet: (line: number) => CommandText['place']): void {
    for (const { words, before, line } of shellCommands(text)) {
      const place = whereSet(line);
      this.commands.push({ words, before, place });
      const inner = words[0] !== undefined && /^(ba|da|z|k)?sh$/.test(words[0]) ? words.indexOf('-c') : -1;
      if (inner > 0) this.shell(words[inner + 1] ?? '', () => place);
      for (const [, substituted = ''] of words.join(' ').matchAll(/\$\(([^()]+)\)/g))
        this.shell(substituted, () => place);
      if (!onlyHandlesFiles.test(words[0] ?? '')) for (const word of words) this.#named(word);
    }
  }

  #named(word: string): void {
    const clean = path.posix.normalize(word);
    if (!/^[\w.][\w./-]*$/.test(clean)) return;
    const exact = this.#sent.find(({ file }) => file === clean);
    // After a `cd`, the command names only the end of the path.
    const ending = this.#sent.filter(({ file }) => file.endsWith(`/${clean}`));
    const found = exact ?? (ending.length === 1 ? ending[0] : undefined);
    if (found !== undefined) this.#file(found);
  }

  #file(sent: SentText, isOptional = false): void {
    const kind = kindOf(sent);
    const known = this.files.get(sent.file);
    if (kind === undefined || (known !== undefined && (isOptional || !known.isOptional))) return;
    if (kind === 'shell') {
      this.files.set(sent.file, { ...sent, kind, isOptional });
      this.shell(sent.text, (line) => ({ file: sent.file, line }));
      return;
    }
    const script = readScript(sent.text, { file: sent.file });
    this.files.set(sent.file, { ...sent, kind, script, isOptional });
    for (const found of script.imports)
      for (const next of localModules(found, sent.file, this.#sent))
        this.#file(next, isOptional || found.when !== 'always');
  }
}

function kindOf({ file, text }: SentText): CodeFile['kind'] | undefined {
  const first = text.split('\n', 1)[0] ?? '';
  if (file.endsWith('.py') || /^#!.*\bpython/.test(first)) return 'python';
  return /\.(sh|bash)$/.test(file) || /^#!.*\b(ba|da|k|z|a)?sh\b/.test(first) ? 'shell' : undefined;
}

/** A text file that is sent with the job; its path is relative to the job file. */
export interface SentText {
  file: string;
  text: string;
}

/** A shell command in the job file, and its line. */
export interface CommandText {
  text: string;
  place: SourceLine;
}

/** A simple command that the job runs, from the job file or a script. */
export interface RunCommand extends Pick<ShellCommand, 'words' | 'before'> {
  place: SourceLine;
}

/** A file sent with the job that it runs or imports. */
type CodeFile = SentText & {
  /** Only code that may never run imports it. */
  isOptional: boolean;
} & ({ kind: 'shell' } | { kind: 'python'; script: ScriptFacts });

/** What a job runs, as far as it can be read. */
export interface JobCode {
  commands: RunCommand[];
  files: CodeFile[];
  /** All text that may mention a name: the commands and all files sent. */
  texts: string[];
  /** Whether the program is among the files; if not, a missing name means nothing. */
  isKnown: boolean;
}

/** Whether any text of the job mentions a name. */
export const mentions = ({ texts }: JobCode, name: string): boolean =>
  texts.some((text) => text.includes(name));

/** Something that the job needs but does not send. */
export interface Use {
  name: string;
  place: SourceLine;
  /** Needed in every run, not only in a branch or function. */
  isCertain: boolean;
}

export interface Uses {
  tools: Use[];
  modules: Use[];
  /** Interpreters by the names that the commands use. */
  pythons: string[];
}

const builtins = new Set(
  `
  alias bg bind break builtin caller case cd command compgen complete continue declare dirs disown do done
  echo elif else enable esac eval exec exit export false fc fg fi for function getopts hash help history
  if in jobs kill let local logout mapfile popd printf pushd pwd read readarray readonly return select set
  shift shopt source suspend test then time times trap true type typeset ulimit umask unalias unset until
  wait while
`
    .trim()
    .split(/\s+/),
);
/** Programs that run the command after them. */
const runners = /^(env|exec|nohup|nice|time|command|timeout|stdbuf|xargs|setsid)$/;
/** Tools that come with the machine's driver, whatever the image. */
const fromDriver = /^nvidia-/;
const python = /^(?:\/\S*\/)?(python[\d.]*)$/;

/** Tools and Python modules that the code uses; `sent` are the files sent with the job. */
export function usesOf({ commands, files }: JobCode, sent: readonly string[]): Uses {
  const defined = functionsIn(files.map(({ text }) => text));
  const tested = new Set(commands.flatMap(testedBy));
  const tools = commands.flatMap((command) =>
    programsOf(command.words)
      .filter((name) => isTool(name) && !defined.has(name) && !tested.has(name) && !sent.includes(name))
      .map((name) => ({ name, place: command.place, isCertain: command.before !== '||' })),
  );
  const pythons = commands.flatMap(({ words }) => programsOf(words)).filter((word) => python.test(word));
  return {
    tools: once(tools),
    modules: once([...commands.flatMap((command) => runModules(command, sent)), ...importedBy(files, sent)]),
    pythons: [...new Set(pythons)],
  };
}

/** The first use of each name, preferably a certain one. */
function once(uses: readonly Use[]): Use[] {
  const found = new Map<string, Use>();
  for (const use of uses) {
    const before = found.get(use.name);
    if (before === undefined || (use.isCertain && !before.isCertain)) found.set(use.name, use);
  }
  return [...found.values()];
}

/** The program of a simple command, and the one that it runs. */
export function programsOf(words: readonly string[]): string[] {
  const [first = '', ...rest] = words;
  // `name() { command; }` in one line.
  if (/^(\w+\(\)|\{)$/.test(first)) return programsOf(rest);
  if (!runners.test(first)) return [first];
  const next = rest.findIndex((word) => !/^(-|\d|[A-Za-z_]\w*=)/.test(word));
  return next < 0 ? [first] : [first, ...programsOf(rest.slice(next))];
}

const isTool = (name: string): boolean =>
  /^[A-Za-z_][\w.+-]*$/.test(name) && !builtins.has(name) && !fromDriver.test(name);

/** Names that a script tests for before it uses them. */
function testedBy({ words }: RunCommand): string[] {
  const [first = '', second = ''] = words;
  if (first === 'which' || first === 'type' || first === 'hash') return words.slice(1);
  return first === 'command' && /^-[vV]$/.test(second) ? words.slice(2) : [];
}

const functionsIn = (texts: readonly string[]): Set<string> =>
  new Set(
    texts.flatMap((text) =>
      [...text.matchAll(/^\s*(?:function\s+)?([A-Za-z_]\w*)\s*\(\)|^\s*function\s+([A-Za-z_]\w*)/gm)].map(
        ([, one, other]) => one ?? other ?? '',
      ),
    ),
  );

/** `python -m module`. */
function runModules({ words, place, before }: RunCommand, sent: readonly string[]): Use[] {
  const at = words.findIndex((word) => python.test(word));
  const module = at >= 0 && words[at + 1] === '-m' ? words[at + 2] : undefined;
  if (module === undefined || !/^[A-Za-z_][\w.]*$/.test(module)) return [];
  if (isLocalModule({ module }, '', sent)) return [];
  return [{ name: module.split('.')[0] ?? module, place, isCertain: before !== '||' }];
}

function importedBy(files: JobCode['files'], sent: readonly string[]): Use[] {
  return files.flatMap((file) => {
    if (file.kind !== 'python') return [];
    return file.script.imports
      .filter((found) => found.when !== 'guarded' && !isLocalModule(found, file.file, sent))
      .map(({ module, line, when }) => ({
        name: module.split('.')[0] ?? module,
        place: { file: file.file, line },
        isCertain: when === 'always' && !file.isOptional,
      }));
  });
}

/** A file that a job would need if it is in the folder of the job file. */
export interface NamedFile {
  /** Relative to the job file. */
  file: string;
  place: SourceLine;
  /** `names`: a command mentions it, or code imports it that may never run. */
  use: 'runs' | 'imports' | 'names';
}

const interpreters = /^(?:python[\d.]*|torchrun|deepspeed|accelerate|(?:ba|da|k|z)?sh|source|\.)$/;
const isRelativeFile = (word: string): boolean => /^[\w.][\w./-]*$/.test(word) && /\w\.\w|\//.test(word);

/** The files that commands name and Python files import, whether or not they are there. */
export function namedFiles({ commands, files }: JobCode): NamedFile[] {
  const inCommands = commands.flatMap(({ words, place }, index) => {
    const program = programsOf(words).at(-1) ?? '';
    const rest = words.slice(words.indexOf(program) + 1);
    if (program === 'cd')
      return index > 0
        ? []
        : rest.map((file) => ({ file: path.posix.join(file), place, use: 'runs' }) as const);
    // `python3 -u train.py --data x.csv`: the first file is run, the others are read.
    const script = interpreters.test(program) ? rest.find(isRelativeFile) : program;
    return [program, ...rest]
      .filter(isRelativeFile)
      .map(
        (word) =>
          ({ file: path.posix.normalize(word), place, use: word === script ? 'runs' : 'names' }) as const,
      );
  });
  const imported = files.flatMap((code) => {
    if (code.kind !== 'python') return [];
    const folder = path.posix.dirname(code.file);
    return code.script.imports
      .filter(({ when }) => when !== 'guarded')
      .flatMap(({ module, line, when }) => {
        const parts = module.replace(/^\.+/, '').replaceAll('.', '/');
        return [`${parts}.py`, `${parts}/__init__.py`].map(
          (name) =>
            ({
              file: path.posix.join(folder, name),
              place: { file: code.file, line },
              use: when === 'always' ? 'imports' : 'names',
            }) as const,
        );
      });
  });
  return [...inCommands, ...imported];
}

/** A path of one machine that a job's command or code names. */
export interface MachinePath {
  /** As written, such as `~/data` or `/home/ada/data`. */
  text: string;
  place: SourceLine;
  /**
   * `default`: the value of an argument that the command does not pass;
   * `code`: code that may never run, may fail, or runs in an image.
   */
  by: 'command' | 'default' | 'code';
  /** Code writes there. */
  isWritten?: boolean;
}

/** Folders that images and workers have too, or that only serve as scratch there. */
const everywhere =
  /^\/(?:dev|proc|sys|bin|sbin|usr|lib\w*|etc|opt|tmp|var|run|cvmfs|staging|hdfs|srv)(?:\/|$)/;
const start = /^(?:(?:~|\$HOME|\$\{HOME\}|\/[\w.@+-]*\w)(?:\/|$))/;
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
