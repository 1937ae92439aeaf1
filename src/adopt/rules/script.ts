import path from 'node:path';
import { applyRules, type Found, type Rule } from '../../base/finding.ts';
import { splitArguments, BadQuoting } from '../split-arguments.ts';
import {
  type Batch,
  type SubmitFacts,
  isUrl,
  fileList,
  perBatch,
  whereSet,
  valueOf,
} from '../submit-facts.ts';
import { readWrapper, type Wrapper } from '../shell-commands.ts';
import { wrapperRules } from './wrapper.ts';

/** Rules that need the submit description and the script together. */
export const scriptRules: Rule<SubmitFacts>[] = [
  {
    name: 'flat-path',
    level: 'error',
    about: 'A file is transferred to the top of the scratch folder, but run from a folder.',
    check: perBatch(flatPaths),
  },
  {
    name: 'checkpoint-unreachable',
    level: 'error',
    about: "The script loses the training's exit code, so that the checkpoint's code never reaches HTCondor.",
    check: perBatch(unreachableCheckpoint),
  },
];

const wrappers = new WeakMap<object, Wrapper | undefined>();

function wrapperOf({ wrapper }: SubmitFacts): Wrapper | undefined {
  if (wrapper === undefined) return undefined;
  if (!wrappers.has(wrapper)) wrappers.set(wrapper, readWrapper(wrapper.file, wrapper.text));
  return wrappers.get(wrapper);
}

function flatPaths(batch: Batch, evidence: SubmitFacts): Found[] {
  const inputs = fileList(valueOf(batch, 'transfer_input_files'));
  if (/^true$/i.test(valueOf(batch, 'preserve_relative_paths') ?? '')) return [];
  const isFolder = (name: string): boolean =>
    evidence.files.get(path.posix.join(batch.job.commands['initialdir'] ?? '.', name))?.kind === 'folder';
  const folders = new Set(
    inputs.filter((name) => !isUrl(name) && isFolder(name)).map((name) => path.posix.basename(name)),
  );
  const flat = new Set(
    inputs
      .filter((name) => isUrl(name) || !isFolder(name))
      .map((name) => path.posix.basename(name.replace(/\?.*$/, ''))),
  );
  return usesOf(batch, evidence).flatMap(({ word, place }) => {
    const clean = path.posix.normalize(word);
    const [folder = '', ...rest] = clean.split('/');
    const base = rest.at(-1);
    if (base === undefined || folder === '..' || folder === '' || !flat.has(base) || folders.has(folder))
      return [];
    if (madeInScript(evidence, folder)) return [];
    return [
      {
        message: `${word} is run from the folder ${folder}, but ${base} arrives at the top of the scratch folder: paths are not kept`,
        fix: `run ./${base}, or transfer the folder ${folder} as a whole, or set preserve_relative_paths = true`,
        place,
      },
    ];
  });
}

/** Words of the script and of the arguments that look like a relative path with a folder. */
function usesOf(
  batch: Batch,
  evidence: SubmitFacts,
): { word: string; place: { file: string; line: number } }[] {
  const isPath = (word: string): boolean => /^(\.\/)?[\w.-]+(\/[\w.-]+)+$/.test(word);
  const script = wrapperOf(evidence);
  const inScript = script?.commands.flatMap(({ words, line }) =>
    words.filter(isPath).map((word) => ({ word, place: { file: script.file, line } })),
  );
  return [
    ...(inScript ?? []),
    ...argumentsOf(batch)
      .filter(isPath)
      .map((word) => ({ word, place: whereSet(batch, 'arguments') })),
  ];
}

function argumentsOf(batch: Batch): string[] {
  try {
    return splitArguments(valueOf(batch, 'arguments') ?? '');
  } catch (error) {
    if (error instanceof BadQuoting) return [];
    throw error;
  }
}

/** The script makes the folder, or unpacks something that may. */
function madeInScript(evidence: SubmitFacts, folder: string): boolean {
  return (wrapperOf(evidence)?.commands ?? []).some(
    ({ words }) =>
      (/^(mkdir|mv|cp|git|ln)$/.test(words[0] ?? '') &&
        words.some((word) => path.posix.normalize(word).split('/')[0] === folder)) ||
      (/^(tar|unzip)$/.test(words[0] ?? '') && words.some((word) => word.includes(folder))),
  );
}

function unreachableCheckpoint(batch: Batch, evidence: SubmitFacts): Found[] {
  const code = valueOf(batch, 'checkpoint_exit_code');
  const script = wrapperOf(evidence);
  if (code === undefined || script === undefined) return [];
  const losing = applyRules(wrapperRules, script).find(({ rule }) =>
    /^(status-lost|pipe-status-lost|option-as-command)$/.test(rule),
  );
  if (losing === undefined) return [];
  return [
    {
      message: `exit code ${code} never reaches HTCondor: ${losing.file} line ${losing.line} gives another one, so no checkpoint is ever saved`,
      fix: `let the script end with the training's own status: ${losing.fix}`,
      place: whereSet(batch, 'checkpoint_exit_code'),
    },
  ];
}
