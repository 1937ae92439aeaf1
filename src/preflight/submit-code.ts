import path from 'node:path';
import {
  type Batch,
  batches,
  fileList,
  isUrl,
  type SubmitFacts,
  submittedImage,
  valueOf,
  whereSet,
  wordsOf,
} from '@updraft/htcondor/submit';
import { asFound, applyRules, type Finding, type Found, levelIf, shellQuote } from '@updraft/base';
import {
  type CommandText,
  type JobCode,
  type SentText,
  machinePaths,
  readCode,
  type Uses,
  usesOf,
} from '../check/code/read-code.ts';
import { downloadRules } from '../check/rules/downloads.ts';
import { softwareRules } from '../check/rules/software.ts';
import { findLocalPaths, scriptsRun, syntaxErrors } from '../check/rules/scripts.ts';
import type { Asking } from './asking.ts';
import { existingPaths } from './ask-here.ts';
import { askPython } from './ask-python.ts';
import { codeText, type Unchecked } from './gathered.ts';

/** The code of a submit file's jobs, and what is wrong with it. */
export interface SubmitCode {
  uses: Uses;
  findings: Finding[];
  /** What a machine may lack, if no image is known. */
  tools: Finding[];
  unchecked: Unchecked[];
}

/** Reads the scripts that a submit file sends, as `check` reads those of a job file; asks no server. */
export async function readSubmitCode(asking: Asking, file: string, facts: SubmitFacts): Promise<SubmitCode> {
  const all = batches(facts);
  const { folder = path.dirname(file), limits } = facts;
  const { sharesNoFolder = false } = limits;
  const sent = await sentTexts(folder, all);
  const code = readCode(all.flatMap(commandOf), sent);
  const uses = usesOf(
    code,
    sent.map((one) => one.file),
  );
  const python = code.files.filter(({ kind }) => kind === 'python').map((one) => one.file);
  const files = sent.filter((one) => python.includes(one.file)).map(({ source }) => source);
  const [existing, syntax] = await Promise.all([
    existingPaths(asking, code),
    askPython(asking, { folder, files, isItsOwn: false, names: uses.pythons }),
  ]);
  const here = { existing, syntax: syntax.facts, notExecutable: new Set<string>() };
  const paths = all.some(isShared) ? [] : machinePaths(code);
  const hasImage = all.some((batch) => submittedImage(batch) !== undefined);
  const certain = levelIf(sharesNoFolder);
  const found = [
    ...named('script-missing', lostScripts(all, facts, code)).map((one) => ({ ...one, level: certain })),
    ...named('python-syntax', syntaxErrors({ here })),
    ...named('local-path', findLocalPaths(paths, here, hasImage)).map((one) => ({
      ...one,
      level: levelIf(sharesNoFolder && one.level === 'error'),
      message: sharesNoFolder ? one.message : `${one.message}, unless the pool shares it with them`,
      fix: 'list it in transfer_input_files, and name it by its base name',
    })),
  ];
  const tools = applyRules(softwareRules, { uses, software: undefined });
  return { uses, tools, findings: [...found, ...pythonDownloads(code)], unchecked: syntax.unchecked };
}

/** Scripts that the job's own script runs, and nobody sends: a folder, or what was unpacked, may have them. */
function lostScripts(
  all: readonly Batch[],
  { files }: SubmitFacts,
  { commands, files: own }: JobCode,
): Found[] {
  const sent = all.flatMap((batch) => fileList(valueOf(batch, 'transfer_input_files')));
  if (all.some(isShared) || sent.some((name) => files.get(path.posix.normalize(name))?.kind === 'folder'))
    return [];
  const known = new Set([...sent.map((name) => path.posix.basename(name)), ...own.map(({ file }) => file)]);
  return scriptsRun(commands.filter(({ place }) => own.some(({ file }) => file === place.file)))
    .filter(({ script }) => !script.startsWith('/') && !known.has(script))
    .map(({ script, place }) =>
      asFound(`${place.file} runs ${script}, which is not sent`, 'list it in transfer_input_files', place),
    );
}

const named = (rule: string, found: readonly Found[]): Finding[] =>
  found.map(({ place, level = 'error', ...one }) => ({ rule, level, ...one, ...place }));

/** Whether its jobs may run where this machine's folders are. */
const isShared = (batch: Batch): boolean =>
  !/^yes$/i.test(valueOf(batch, 'should_transfer_files') ?? 'yes') ||
  /FileSystemDomain|CHTCStaging/i.test(valueOf(batch, 'requirements') ?? '');

/** The lint reports the script's downloads; these are the Python files', with a fix for a submit file. */
function pythonDownloads(code: JobCode): Finding[] {
  const found = applyRules(downloadRules, { code: { ...code, commands: [] }, env: {}, folders: [] });
  const fix = 'list it in transfer_input_files (as an osdf:/// URL if it is large) and read it from there';
  return found.map((finding) => ({ ...finding, fix }));
}

/** What a queue statement runs, as a shell command. */
function commandOf(batch: Batch): CommandText[] {
  const program = valueOf(batch, 'executable');
  if (program === undefined) return [];
  const words = [path.posix.basename(program), ...wordsOf('arguments', valueOf(batch, 'arguments'))];
  return [{ text: words.map(shellQuote).join(' '), place: whereSet(batch, 'executable') }];
}

/** The scripts that are sent with the job; they arrive under their base names. */
async function sentTexts(folder: string, all: readonly Batch[]): Promise<(SentText & { source: string })[]> {
  const names = all.flatMap((batch) => [
    valueOf(batch, 'executable') ?? '',
    ...fileList(valueOf(batch, 'transfer_input_files')).filter((name) => !isUrl(name)),
  ]);
  const texts: (SentText & { source: string })[] = [];
  for (const name of new Set(names.filter((one) => one !== ''))) {
    const text = await codeText(path.resolve(folder, name));
    if (text !== undefined) texts.push({ file: path.posix.basename(name), text, source: name });
  }
  return texts;
}
