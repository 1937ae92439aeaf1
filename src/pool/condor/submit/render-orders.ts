import path from 'node:path';
import type { OrderedData } from '../../../job/job.ts';
import { deliveredName } from '../../../job/layout.ts';
import type { Plan, PlannedData } from '../../../job/plan.ts';
import { orderEnvironment } from '../../../job/planned-environment.ts';
import { orderedRecovery, policyOf } from '../../../recovery/policy.ts';
import type { Round } from '../../pool.ts';
import { condorFiles, roundFiles } from '../condor-files.ts';
import { durationClass } from './duration-class.ts';
import type { Profile } from './profiles.ts';

/** The agent's orders, by path in the run's folder. Places are left out: the sandbox decides them. */
export function renderOrders(
  plan: Plan,
  run: string,
  profile: Profile,
  round?: Round,
): Record<string, string> {
  const data = plan.data.map(sandboxData);
  const { resources } = plan.spec;
  const environment = orderEnvironment(plan.spec.environment, plan.environment?.pack, sandboxData);
  // Where the pool ends what takes longer than its class, the agent must know of it before.
  const timeSeconds = resources.timeSeconds ?? durationClass(plan, profile)?.seconds;
  const asked = { ...resources, diskBytes: plan.disk.bytes, timeSeconds };
  // Each word passes through the access point: many jobs speak less often.
  const every = Math.max(profile.liveSeconds, plan.jobs.length / 20);
  const recovery = orderedRecovery(policyOf(plan.spec, { diskBytes: plan.disk.bytes, pace: profile.pace }));
  const meant = round === undefined ? undefined : new Set(round.jobs);
  const folder = roundFiles(round?.number ?? 1).orders;
  const orders = plan.jobs.map((job): [string, string] => {
    const attemptsBefore = round?.attemptsBefore.get(job.id);
    const order = { version: 1, run, job, attemptsBefore, data, environment, resources: asked, recovery };
    const more = { isRehearsal: plan.isRehearsal, liveSeconds: every };
    return [`${folder}/${job.id}.json`, `${JSON.stringify({ ...order, ...more })}\n`];
  });
  return Object.fromEntries(orders.filter((_, index) => meant?.has(plan.jobs[index]?.id ?? '') ?? true));
}

/** A data source as it looks from inside the sandbox: what HTCondor delivers is a file there, and so is its token. */
function sandboxData(source: PlannedData): OrderedData {
  const { tokenFile, ...data } = source;
  return {
    ...data,
    ...(source.method === 'stream' ? {} : { delivered: sandboxName(source) }),
    ...(tokenFile === undefined ? {} : { tokenFile: tokenName(source) }),
  };
}

function sandboxName(source: PlannedData): string {
  return source.method === 'native' ? path.posix.basename(nativeName(source)) : deliveredName(source.url);
}

/** What the access point sends under a name of ours: user's names may hold what a submit description cannot. */
export const nativeName = ({ name }: PlannedData): string => `${condorFiles.inputs}/data.${name}`;
export const tokenName = ({ name }: PlannedData): string => `token.${name}`;
