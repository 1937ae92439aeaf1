import type { SourceLine } from '@updraft/base';
import { isLocalModule } from '../../script/python-imports.ts';
import type { JobCode, RunCommand } from './code.ts';

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
  'alias bg bind break builtin caller case cd command compgen complete continue declare dirs disown do done echo elif else enable esac eval exec exit export false fc fg fi for function getopts hash help history if in jobs kill let local logout mapfile popd printf pushd pwd read readarray readonly return select set shift shopt source suspend test then time times trap true type typeset ulimit umask unalias unset until wait while'.split(
    ' ',
  ),
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
        isCertain: when === 'always',
      }));
  });
}
