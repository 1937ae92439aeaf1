import type { Evidence, PoolLimits, Usage } from '../../adopt/evidence.ts';
import { survey } from '../../adopt/survey.ts';
import type { ProfileName } from '../../job/spec.ts';
import { condorProfiles, CondorTools, findLimits, type Profile } from '../../pool/htcondor.ts';
import type { Cli } from '../cli.ts';

/** Surveys a submit description by the version and the customs of this access point, or those of the pool that is named. */
export async function surveyFile(
  cli: Cli,
  file: string,
  { pool, usage }: { pool?: ProfileName | undefined; usage?: Usage | undefined } = {},
): Promise<Evidence> {
  const tools = await CondorTools.find(cli.env).catch(() => undefined);
  const [profile, version] = await Promise.all([
    tools === undefined || pool !== undefined ? condorProfiles[pool ?? 'htcondor'] : findLimits(pool, tools),
    tools?.version().catch(() => undefined),
  ]);
  const [major = 0, minor = 0, patch = 0] = (version ?? '').split('.').map(Number);
  return survey({
    file,
    env: cli.env,
    now: new Date(cli.clock.now()),
    limits: limitsOf(profile),
    ...(version === undefined ? {} : { version: [major, minor, patch] }),
    ...(usage === undefined ? {} : { usage }),
  });
}

/** What access points commonly allow: a profile that knows better says so. */
const usualInputBytes = 5000 * 2 ** 20;
const usualAdviceBytes = 1e9;

/** The limits of a profile that a submit description can break. */
export function limitsOf({
  title,
  nativeInputBytes,
  nativeFileBytes,
  wantsProject,
  durations,
  durationAttribute,
}: Profile): PoolLimits {
  return {
    title,
    inputBytes: nativeInputBytes ?? usualInputBytes,
    adviseBytes: nativeFileBytes ?? usualAdviceBytes,
    wantsProject,
    durationCategories:
      durationAttribute === 'JobDurationCategory' ? (durations ?? []).map(({ name }) => name) : [],
  };
}
