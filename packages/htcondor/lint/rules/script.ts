import path from 'node:path';
import { applyRules, type Found, type Rule, type RuleResult } from '@updraft/base';
import { wordsOf } from '../../submit/split-arguments.ts';
import {
  type Batch,
  type SubmitFacts,
  isUrl,
  fileList,
  perBatch,
  whereSet,
  valueOf,
} from '../../submit/submit-facts.ts';
import { readWrapper, type ShellCommand, type Wrapper } from '../shell-commands.ts';
import { wrapperRules } from './wrapper.ts';

/** Rules that need both the submit file and the script. */
export const scriptRules: Rule<SubmitFacts>[] = [
  {
    name: 'flat-path',
    level: 'error',
    about: 'A file arrives at the top of the scratch folder, but is used from a subfolder.',
    check: perBatch(flatPaths),
  },
  {
    name: 'checkpoint-unreachable',
    level: 'error',
    about: "The script loses the training's exit code, so the checkpoint exit code never reaches HTCondor.",
    check: perBatch(unreachableCheckpoint),
  },
];

const wrappers = new WeakMap<object, Wrapper | undefined>();

function wrapperOf({ wrapper }: SubmitFacts): Wrapper | undefined {
  if (wrapper === undefined) return undefined;
  if (!wrappers.has(wrapper)) wrappers.set(wrapper, readWrapper(wrapper.file, wrapper.text));
  return wrappers.get(wrapper);
}

function flatPaths(batch: Batch, facts: SubmitFacts): Found[] {
  const inputs = fileList(valueOf(batch, 'transfer_input_files'));
  if (/^true$/i.test(valueOf(batch, 'preserve_relative_paths') ?? '')) return [];
  const isFolder = (name: string): boolean =>
    facts.files.get(path.posix.join(batch.job.commands['initialdir'] ?? '.', name))?.kind === 'folder';
  const folders = new Set(
    inputs.filter((name) => !isUrl(name) && isFolder(name)).map((name) => path.posix.basename(name)),
  );
  const flat = new Set(
    inputs
      .filter((name) => isUrl(name) || !isFolder(name))
      .map((name) => path.posix.basename(name.replace(/\?.*$/, ''))),
  );
  const isSure =
    facts.limits.sharesNoFolder === true ||
    /^(yes|true|always)$/i.test(valueOf(batch, 'should_transfer_files') ?? '');
  return usesOf(batch, facts).flatMap(({ word, place }) => {
    const clean = path.posix.normalize(word);
    const [folder = '', ...rest] = clean.split('/');
    const base = rest.at(-1);
    if (base === undefined || folder === '..' || folder === '' || !flat.has(base) || folders.has(folder))
      return [];
    if (madeInScript(facts, folder)) return [];
    return {
      ...(isSure ? {} : { level: 'warning' as const }),
      message: `${word} is used from the folder ${folder}, but ${base} arrives at the top of the scratch folder: HTCondor does not keep paths${isSure ? '' : ', unless the worker shares the files of the access point'}`,
      fix: `name it ./${base}, or transfer the folder ${folder} itself, or write:\npreserve_relative_paths = true`,
      place,
    };
  });
}

/** Words of the script and of the arguments that look like a relative path with a folder. */
function usesOf(batch: Batch, facts: SubmitFacts): { word: string; place: { file: string; line: number } }[] {
  const isPath = (word: string): boolean => /^(\.\/)?[\w.-]+(\/[\w.-]+)+$/.test(word);
  const script = wrapperOf(facts);
  const inScript = script?.commands
    .filter(opensFiles)
    .flatMap(({ words, line }) =>
      words.filter(isPath).map((word) => ({ word, place: { file: script.file, line } })),
    );
  return [
    ...(inScript ?? []),
    ...wordsOf('arguments', valueOf(batch, 'arguments'))
      .filter((word, index) => isPath(word) && isPassedOn(script, index + 1))
      .map((word) => ({ word, place: whereSet(batch, 'arguments') })),
  ];
}

const opensFiles = ({ words }: ShellCommand): boolean =>
  !/^(echo|printf|test|\[\[?|mkdir|basename|dirname)$/.test(words[0] ?? '');

/** Whether an argument is surely used as it is: a script may also take its base name, or put a folder before it. */
function isPassedOn(script: Wrapper | undefined, position: number): boolean {
  if (script === undefined) return true;
  if (script.commands.some(({ words }) => words[0] === 'shift')) return false;
  const whole = new RegExp(String.raw`^"?\$(?:${position}|\{${position}\}|[@*])"?$`);
  return script.commands.some(
    (command) => !command.nested && opensFiles(command) && command.words.some((word) => whole.test(word)),
  );
}

/** The script makes the folder, or unpacks something that may. */
function madeInScript(facts: SubmitFacts, folder: string): boolean {
  return (wrapperOf(facts)?.commands ?? []).some(
    ({ words }) =>
      (/^(mkdir|mv|cp|git|ln)$/.test(words[0] ?? '') &&
        words.some((word) => path.posix.normalize(word).split('/')[0] === folder)) ||
      (/^(tar|unzip)$/.test(words[0] ?? '') && words.some((word) => word.includes(folder))),
  );
}

function unreachableCheckpoint(batch: Batch, facts: SubmitFacts): RuleResult {
  const code = valueOf(batch, 'checkpoint_exit_code');
  const script = wrapperOf(facts);
  if (code === undefined || script === undefined) return [];
  const losing = applyRules(wrapperRules, script).find(({ rule }) =>
    /^(status-lost|pipe-status-lost|option-as-command)$/.test(rule),
  );
  if (losing === undefined) return [];
  return {
    message: `exit code ${code} never reaches HTCondor: ${losing.file} line ${losing.line} exits with another, so no checkpoint is ever saved`,
    fix: `make the script exit with the training's status: ${losing.fix}`,
    place: whereSet(batch, 'checkpoint_exit_code'),
  };
}
