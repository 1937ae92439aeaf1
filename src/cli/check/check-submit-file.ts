import path from 'node:path';
import { splitArguments } from '../../adopt/split-arguments.ts';
import {
  attributeValue,
  type Batch,
  batches,
  type SubmitFacts,
  isUrl,
  fileList,
  whereSet,
  valueOf,
} from '../../adopt/submit-facts.ts';
import { lintSubmission } from '../../adopt/lint.ts';
import { shellQuote } from '../../base/shell-quote.ts';
import type { JobCode, CommandText, SentText } from '../../check/code/code.ts';
import { readCode } from '../../check/code/read-code.ts';
import { type Uses, usesOf } from '../../check/code/uses.ts';
import { applyRules, type Finding, sortFindings } from '../../base/finding.ts';
import { downloadRules } from '../../check/rules/downloads.ts';
import { objectRules } from '../../check/rules/objects.ts';
import { softwareRules } from '../../check/rules/software.ts';
import { askCondor, type CondorAnswer } from '../adopt/ask-condor.ts';
import { surveyFile } from '../adopt/survey-file.ts';
import type { Cli } from '../cli.ts';
import { type AskedObject, askObjects, isObject } from './ask-objects.ts';
import { askSoftware, type SoftwareQuestion } from './ask-software.ts';
import {
  codeText,
  type Inspected,
  sizesOf,
  type CheckReport,
  type Unchecked,
  withoutTokens,
} from './gathered.ts';

/** What a check of a submit file found. */
export interface CheckedFile extends CheckReport {
  file: string;
  /** How many jobs it queues; undefined where only HTCondor knows. */
  jobs: number | undefined;
}

const objectMs = 60_000;
const softwareMs = 120_000;

/** The lint of `adopt`, plus what the servers and the image say. */
export async function checkSubmitFile(cli: Cli, file: string, image?: string): Promise<CheckedFile> {
  const facts = await surveyFile(cli, file);
  const all = batches(facts);
  const sent = await sentTexts(path.dirname(file), all);
  const code = readCode(all.flatMap(commandOf), sent);
  const uses = usesOf(
    code,
    sent.map((one) => one.file),
  );
  const question = softwareOf(file, all, uses, image && path.resolve(cli.cwd, image));
  const [objects, software, condor] = await Promise.all([
    askObjects(cli, objectsOf(all), objectMs),
    askSoftware(cli, question, softwareMs),
    askCondor(cli, file, facts.submission),
  ]);
  const objectBytes = sizesOf(objects.facts.objects, 'url');
  const findings = sortFindings([
    ...lintSubmission({ ...facts, objectBytes }),
    ...applyRules(objectRules, objects.facts),
    ...applyRules(softwareRules, { uses, software: software.facts }),
    ...pythonDownloads(code),
    ...refusal(path.basename(file), condor),
  ]);
  const looked = [...objects.looked, ...software.looked, ...accepted(condor)];
  const unchecked = [...objects.unchecked, ...software.unchecked, ...notAsked(condor)];
  return { file, jobs: jobsOf(facts), ...withoutTokens({ findings, looked, unchecked }) };
}

function jobsOf({ submission: { queues } }: SubmitFacts): number | undefined {
  const isKnown = queues.every(({ total }) => total !== undefined);
  return isKnown ? queues.reduce((sum, { total = 0 }) => sum + total, 0) : undefined;
}

const softwareOf = (
  file: string,
  all: readonly Batch[],
  uses: Uses,
  image: string | undefined,
): SoftwareQuestion => ({
  image: image ?? all.map(imageOf).find((one) => one !== undefined),
  folder: path.dirname(file),
  isPacked: false,
  isHere: false,
  declared: [],
  wantCuda: false,
  uses,
});

const accepted = ({ accepted: yes, version = '' }: CondorAnswer): Inspected[] =>
  yes === true ? [{ what: `HTCondor ${version}`, said: 'accepts the file' }] : [];

const notAsked = ({ asked, why = '' }: CondorAnswer): Unchecked[] =>
  asked ? [] : [{ what: 'whether HTCondor accepts the file', why }];

function refusal(file: string, { accepted: yes, messages }: CondorAnswer): Finding[] {
  if (yes !== false) return [];
  const message = `HTCondor refuses the file: ${messages.join(' ')}`;
  return [
    { rule: 'refused', level: 'error', message, fix: 'change what HTCondor complains about', file, line: 1 },
  ];
}

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
  const words = [path.posix.basename(program), ...wordsOf(valueOf(batch, 'arguments') ?? '')];
  return [{ text: words.map(shellQuote).join(' '), place: whereSet(batch, 'executable') }];
}

/** The lint reports invalid quoting. */
function wordsOf(text: string): string[] {
  try {
    return splitArguments(text);
  } catch {
    return [];
  }
}

/** The scripts that are sent with the job; they arrive under their base names. */
async function sentTexts(folder: string, all: readonly Batch[]): Promise<SentText[]> {
  const names = all.flatMap((batch) => [
    valueOf(batch, 'executable') ?? '',
    ...fileList(valueOf(batch, 'transfer_input_files')).filter((name) => !isUrl(name)),
  ]);
  const texts: SentText[] = [];
  for (const name of new Set(names.filter((one) => one !== ''))) {
    const text = await codeText(path.resolve(folder, name));
    if (text !== undefined) texts.push({ file: path.posix.basename(name), text });
  }
  return texts;
}

/** Every input URL and image of the jobs. */
function objectsOf(all: readonly Batch[]): AskedObject[] {
  const found = new Map<string, AskedObject>();
  const add = (label: string, url: string | undefined, place: AskedObject['place']): void => {
    if (url !== undefined && isObject(url))
      found.set(url, { label, url, place, declared: {}, isProven: true });
  };
  for (const batch of all)
    add('image', imageOf(batch), whereSet(batch, 'container_image', 'MY.SingularityImage'));
  for (const batch of all.flatMap(({ queue }) => queue.jobs.map((job) => ({ queue, job }))))
    for (const url of fileList(valueOf(batch, 'transfer_input_files')))
      add('input', url, whereSet(batch, 'transfer_input_files'));
  return [...found.values()];
}

const imageOf = (batch: Batch): string | undefined =>
  valueOf(batch, 'container_image') ?? attributeValue(batch, 'SingularityImage')?.replaceAll('"', '');
