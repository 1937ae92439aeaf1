import { type SubmitFacts, surveyOnDisk, type SurveyOptions, undefinedNames } from '@updraft/htcondor/submit';
import { CondorTools, findLimits, findProfile, submitLimits } from '../pool/htcondor.ts';
import type { Asking } from './asking.ts';

/** Surveys a submit file by the version and limits of this access point, or the limits of the given pool. */
export async function surveyFile(
  asking: Asking,
  file: string,
  { pool }: { pool?: string | undefined } = {},
): Promise<SubmitFacts> {
  return surveyOnDisk({ file, ...(await surveyContext(asking, pool)) });
}

/** Jobs of a queue statement that are written; others check the first few. */
const maxWritten = 10_000;

/** Stands for the number of the cluster, which is unknown before the submission. */
export const anyCluster = 918_273_645;

/** Surveys a submit file for `--write`: `$$(NAME)` stands for a name that has no value in it. */
export async function surveyToWrite(asking: Asking, file: string, pool?: string): Promise<SubmitFacts> {
  const context = await surveyContext(asking, pool);
  const { submission } = surveyOnDisk({ file, ...context });
  const given = undefinedNames(submission, true)
    .filter(({ name }) => !submission.queues.some(({ text }) => text.includes(`$(${name})`)))
    .map(({ name, place }) => ({ name, value: `$$(${name})`, append: false, place }));
  return surveyOnDisk({ file, ...context, given, maxJobs: maxWritten, cluster: anyCluster });
}

/** What a survey needs to know of this access point: its version and limits, or the limits of the given pool. */
export async function surveyContext(
  asking: Asking,
  pool?: string,
): Promise<Pick<SurveyOptions, 'env' | 'now' | 'limits' | 'version'>> {
  const tools = await CondorTools.find(asking.env).catch(() => undefined);
  const at = { tools, env: asking.env };
  const [profile, version] = await Promise.all([
    pool === undefined ? findLimits(pool, at) : findProfile(pool, at),
    tools?.version().catch(() => undefined),
  ]);
  const [major = 0, minor = 0, patch = 0] = (version ?? '').split('.').map(Number);
  return {
    env: asking.env,
    now: new Date(asking.clock.now()),
    limits: await submitLimits(profile, asking.env),
    ...(version === undefined ? {} : { version: [major, minor, patch] }),
  };
}
