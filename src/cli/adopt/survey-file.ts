import type { Evidence, Usage } from '../../adopt/evidence.ts';
import { survey } from '../../adopt/survey.ts';
import type { ProfileName } from '../../job/spec.ts';
import { CondorTools } from '../../pool/condor/condor-tools.ts';
import { findCustoms } from '../../pool/condor/find-profile.ts';
import { condorProfiles } from '../../pool/condor/profiles.ts';
import type { Cli } from '../cli.ts';
import { limitsOf } from './limits-of.ts';

/** Surveys a submit description by the version and the customs of this access point, or those of the pool that is named. */
export async function surveyFile(
  cli: Cli,
  file: string,
  { pool, usage }: { pool?: ProfileName | undefined; usage?: Usage | undefined } = {},
): Promise<Evidence> {
  const tools = await CondorTools.find(cli.env).catch(() => undefined);
  const [profile, version] = await Promise.all([
    tools === undefined || pool !== undefined ? condorProfiles[pool ?? 'htcondor'] : findCustoms(pool, tools),
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
