import { mkdir, rm, symlink } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Env } from '@updraft/base';
import type { OrderedData } from '../../../job/job.ts';
import { deliveredName, runFiles, sandboxFiles } from '../../../job/layout.ts';
import { isOnDemand } from '../../../job/on-demand.ts';
import { fetchedBy, orderEnvironment, type Plan, type PlannedData } from '../../../job/plan.ts';
import { variantsOf } from '../../../job/variants.ts';
import { attemptRecovery, policyOf } from '../../../recovery/policy.ts';
import { hasSecrets, secretsFile } from '../../stored-secrets.ts';
import type { FoundAgent } from '../../find-agent.ts';
import { placePackedAgent } from '../../packed-agent.ts';
import { writeAuthorities } from '../../write-authorities.ts';
import type { Round } from '../../pool.ts';
import { condorFiles, condorRoundFiles } from '../condor-files.ts';
import { durationClass, type Profile } from './profiles.ts';
import { localImage, sifName } from './render-image.ts';

/** The work orders, by path in the run's folder. They leave out the places, which the sandbox decides. */
export function renderCondorOrders(
  plan: Plan,
  run: string,
  profile: Profile,
  round?: Round,
): Record<string, string> {
  // Each report passes through the access point: many jobs report less often.
  const liveSeconds = Math.max(profile.liveSeconds, plan.jobs.length / 20);
  const orders = variantsOf(plan).map((one) => variantOrders(one, run, profile, { round, liveSeconds }));
  return Object.assign({}, ...orders) as Record<string, string>;
}

function variantOrders(
  plan: Plan,
  run: string,
  profile: Profile,
  { round, liveSeconds }: { round: Round | undefined; liveSeconds: number },
): Record<string, string> {
  const data = plan.data.map(sandboxData);
  const {
    resources,
    run: { caches, avoidCaches },
  } = plan.spec;
  const environment = {
    ...orderEnvironment(plan.spec.environment, plan.environment?.pack, sandboxData),
    ...(plan.imageTokenFile !== undefined && { imageToken: path.posix.basename(imageTokenName(plan)) }),
  };
  // Where the pool kills what exceeds its duration class, the agent must know the limit.
  const timeSeconds = resources.timeSeconds ?? durationClass(plan, profile)?.seconds;
  const asked = { ...resources, diskBytes: plan.disk.bytes, timeSeconds };
  const recovery = attemptRecovery(
    policyOf(plan.spec, { diskBytes: plan.disk.bytes, backoff: profile.backoff }),
  );
  const included = round === undefined ? undefined : new Set(round.jobs);
  const folder = condorRoundFiles(round?.number ?? 1).orders;
  const orders = plan.jobs.map((job): [string, string] => {
    const attemptsBefore = round?.attemptsBefore.get(job.id);
    const order = { version: 1, run, job, attemptsBefore, data, environment, resources: asked, recovery };
    const { isRehearsal, meanLifeSeconds, confirmed } = plan;
    const more = { isRehearsal, meanLifeSeconds, liveSeconds, caches, avoidCaches, confirmed };
    return [`${folder}/${job.id}.json`, `${JSON.stringify({ ...order, ...more })}\n`];
  });
  return Object.fromEntries(orders.filter((_, index) => included?.has(plan.jobs[index]?.id ?? '') ?? true));
}

/** Whether the agent fetches it, and HTCondor only transfers its token. */
export const isFetchedInJob = (source: PlannedData): boolean =>
  source.method === 'stream' || isOnDemand(source);

/** A data source seen from inside the sandbox: what HTCondor delivers is a file there, and so is its token. */
function sandboxData(source: PlannedData): OrderedData {
  const { tokenFile, ...data } = source;
  return {
    ...data,
    ...(isFetchedInJob(source) ? {} : { delivered: sandboxName(source) }),
    ...(tokenFile === undefined ? {} : { tokenFile: tokenName(source) }),
  };
}

const sandboxName = (source: PlannedData): string =>
  source.method === 'native' ? path.posix.basename(nativeName(source)) : deliveredName(source.url);

/** Links under our own names: the user's may contain what a submit file cannot. */
export const nativeName = (source: PlannedData): string => `${condorFiles.inputs}/data.${markedName(source)}`;
export const tokenName = (source: PlannedData): string => `token.${markedName(source)}`;

/** No data set has a dot in its name. */
const markedName = ({ name, mark }: PlannedData): string => (mark === undefined ? name : `${name}.${mark}`);

export const imageTokenName = ({ imageMark }: Plan): string =>
  `${condorFiles.inputs}/image${imageMark === undefined ? '' : `-${imageMark}`}.token`;

/** Adds to a run's folder the files that its submit file names, with the agent unless workers fetch it; may be repeated. */
export async function prepareInputs(
  runFolder: string,
  plan: Plan,
  agent: FoundAgent | undefined,
  env: Env,
): Promise<void> {
  const inRun = (name: string): string => path.join(runFolder, name);
  await mkdir(inRun(condorFiles.said), { recursive: true });
  await mkdir(inRun(condorFiles.inputs), { recursive: true });
  if (agent !== undefined) await placePackedAgent(agent, inRun(condorFiles.agent), env);
  for (const one of variantsOf(plan)) await linkInputs(one, inRun);
  if (hasSecrets(plan))
    await linkTo(secretsFile(env, path.basename(path.resolve(runFolder))), inRun(condorFiles.secrets));
  await writeAuthorities(inRun(condorFiles.authority), env);
  if (plan.spec.train.checkpoint !== undefined)
    for (const { id } of plan.jobs)
      await mkdir(path.join(inRun(runFiles.jobs), id, sandboxFiles.checkpoint), { recursive: true });
}

/** Links to the data, tokens and image of the jobs of one variant. */
async function linkInputs(plan: Plan, inRun: (name: string) => string): Promise<void> {
  for (const source of fetchedBy(plan)) {
    if (source.method === 'native') await linkTo(fileURLToPath(source.url), inRun(nativeName(source)));
    if (source.tokenFile !== undefined)
      await linkTo(source.tokenFile, path.join(inRun(condorFiles.inputs), tokenName(source)));
  }
  if (plan.imageTokenFile !== undefined) await linkTo(plan.imageTokenFile, inRun(imageTokenName(plan)));
  const image = localImage(plan);
  if (image?.endsWith('.sif') === true) await linkTo(image, inRun(sifName(plan)));
}

/** HTCondor sends the target of a link; only the link's name must suit a submit file. */
async function linkTo(file: string, name: string): Promise<void> {
  await rm(name, { force: true });
  await symlink(file, name);
}
