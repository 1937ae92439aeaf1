import path from 'node:path';
import {
  type Batch,
  batches,
  fileList,
  type SubmitFacts,
  submittedImage,
  valueOf,
  whereSet,
} from '@updraft/htcondor/submit';
import { hideInFindings, hideSecretsOf, lintSubmission, quotedTexts } from '@updraft/htcondor/lint';
import type { Uses } from '../check/code/read-code.ts';
import { applyRules, type Finding, sortFindings } from '@updraft/base';
import { objectRules } from '../check/rules/objects.ts';
import { softwareRules } from '../check/rules/software.ts';
import { askCondor, type CondorAnswer } from './ask-condor.ts';
import { surveyFile } from './survey-file.ts';
import type { Asking } from './asking.ts';
import { askObjects, isObject } from './ask-objects.ts';
import { readSubmitCode } from './submit-code.ts';
import { askSoftware, type SoftwareQuestion } from './ask-software.ts';
import {
  type AskedObject,
  type CheckReport,
  type Inspected,
  sizesOf,
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
export async function checkSubmitFile(asking: Asking, file: string, image?: string): Promise<CheckedFile> {
  const facts = await surveyFile(asking, file);
  const all = batches(facts);
  const { uses, ...code } = await readSubmitCode(asking, file, facts);
  const question = softwareOf(
    facts.folder ?? path.dirname(file),
    all,
    uses,
    image && path.resolve(asking.cwd, image),
  );
  const [objects, software, condor] = await Promise.all([
    askObjects(asking, objectsOf(all), objectMs),
    askSoftware(asking, question, softwareMs),
    askCondor(asking, file, facts),
  ]);
  const hide = hideSecretsOf(quotedTexts(facts));
  const objectBytes = sizesOf(objects.facts.objects, 'url');
  const findings = sortFindings([
    ...lintSubmission({ ...facts, objectBytes }),
    ...applyRules(objectRules, objects.facts),
    ...applyRules(softwareRules, { uses, software: software.facts }),
    ...hideInFindings([...code.findings, ...refusal(path.basename(file), condor)], hide),
  ]);
  const looked = [...objects.looked, ...software.looked, ...accepted(condor)];
  const unchecked = [...code.unchecked, ...objects.unchecked, ...software.unchecked, ...notAsked(condor)];
  return { file, jobs: jobsOf(facts), ...withoutTokens({ findings, looked, unchecked }) };
}

function jobsOf({ submission: { queues } }: SubmitFacts): number | undefined {
  const isKnown = queues.every(({ total }) => total !== undefined);
  return isKnown ? queues.reduce((sum, { total = 0 }) => sum + total, 0) : undefined;
}

const softwareOf = (
  folder: string,
  all: readonly Batch[],
  uses: Uses,
  image: string | undefined,
): SoftwareQuestion => ({
  image: image ?? all.map(submittedImage).find((one) => one !== undefined),
  folder,
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

/** Every input URL and image of the jobs. */
function objectsOf(all: readonly Batch[]): AskedObject[] {
  const found = new Map<string, AskedObject>();
  const add = (label: string, url: string | undefined, place: AskedObject['place']): void => {
    if (url !== undefined && isObject(url))
      found.set(url, { label, url, place, declared: {}, isProven: true });
  };
  for (const batch of all)
    add(
      'image',
      submittedImage(batch),
      whereSet(batch, 'container_image', 'MY.SingularityImage', 'docker_image'),
    );
  for (const batch of all.flatMap(({ queue }) => queue.jobs.map((job) => ({ queue, job }))))
    for (const url of fileList(valueOf(batch, 'transfer_input_files')))
      add('input', url, whereSet(batch, 'transfer_input_files'));
  return [...found.values()];
}
