import { hash } from 'node:crypto';
import { mkdir, rm, symlink } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { defined, type Env, fileSize, formatSize } from '@updraft/base';
import { deliveredName, runFiles, sandboxFiles, agentHash } from '@updraft/account/run-folder';
import { attemptRecovery, policyOf } from '@updraft/account/recovery';
import packageJson from '../../../../package.json' with { type: 'json' };
import { agentName } from '../../../job/installation.ts';
import type { OrderedData } from '../../../job/job.ts';
import { isOnDemand } from '../../../job/on-demand.ts';
import { fetchedBy, orderEnvironment, type Plan, type PlannedData } from '../../../job/plan.ts';
import { variantsOf } from '../../../job/variants.ts';
import { hasSecrets, secretsFile } from '../../stored-secrets.ts';
import { type FoundAgent, placePackedAgent, unpackedAgent } from '../../find-agent.ts';
import { writeAuthorities } from '../../image-command.ts';
import type { Round } from '../../pool.ts';
import { condorFiles, condorRoundFiles } from '../condor-files.ts';
import { durationClass, type Profile } from './profiles.ts';
import { localImage, sifName, isFederated } from './render-image.ts';
import { type CondorVersion, isAtLeast } from '../tools/condor-tools.ts';

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
  const included = round && new Set(round.jobs);
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

/** Adds to a run's folder what its submit file names, with the agent unless workers fetch it; may be repeated. */
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

/** An agent that workers fetch themselves, or have in their image: where, under which name, and what it must be. */
export interface AgentObject {
  url: string;
  name: string;
  sha256: string;
}

/** The first version that sends a file once per machine, for all jobs of a submission. */
const commonSince: CondorVersion = '25.14.0';

const archNames: Record<string, string> = { x86_64: 'x64', aarch64: 'arm64' };

/** The workers' architecture, by Node's name, if `requirements` names one; else it is this machine's. */
export function requiredArch({ spec }: Plan): string | undefined {
  const [, name] = /\bArch\s*(?:==|=\?=)\s*"(\w+)"/i.exec(spec.run.requirements ?? '') ?? [];
  return name === undefined ? undefined : archNames[name.toLowerCase()];
}

/** Whether HTCondor fetches data or the image with our plugin: that is the agent, so it must be there first. */
const needsPlugin = (plan: Plan): boolean =>
  fetchedBy(plan).some(({ method }) => method === 'https' || method === 'osdf') ||
  // Without a token, the machine's own plugin brings an image that has the agent.
  (isFederated(plan) && !(isInImage(plan.spec.pool?.agent) && plan.imageTokenFile === undefined));

const isInImage = (place: string | undefined): boolean => place?.startsWith('image:') === true;

/** All jobs have one launcher: what one of them needs, all get. */
export const anyNeedsPlugin = (plan: Plan): boolean => variantsOf(plan).some(needsPlugin);

/** The agent that the job file names, if the workers have or can fetch it before they need it. */
export function agentObject(plan: Plan): AgentObject | undefined {
  const url = plan.spec.pool?.agent ?? '';
  const sha256 = agentHash(url);
  if (sha256 === undefined || anyNeedsPlugin(plan)) return undefined;
  const isElsewhere =
    isInImage(url) && variantsOf(plan).some(({ spec }) => spec.environment.image === undefined);
  return isElsewhere ? undefined : { url, sha256, name: deliveredName(url) };
}

/** The plan without the agent that it names, if that is not the one of this installation: then it is sent. */
export async function withOwnAgent(plan: Plan, find: () => Promise<FoundAgent>): Promise<Plan> {
  const object = agentObject(plan);
  if (object === undefined) return plan;
  const [, version = packageJson.version] = agentVersion.exec(object.name) ?? [];
  const isOwn =
    version === packageJson.version &&
    (!isInImage(object.url) || object.sha256 === hash('sha256', await unpackedAgent(await find())));
  if (isOwn) return plan;
  return { ...plan, spec: { ...plan.spec, pool: defined({ ...plan.spec.pool, agent: undefined }) } };
}

/** As `updraft env` names agents. */
const agentVersion = new RegExp(`^${agentName}-(.+)-linux-`);

/** Whether the agent is sent once per machine; otherwise with every attempt. */
const isCommon = ({ spec }: Plan, version: CondorVersion): boolean =>
  spec.pool?.agent === 'common' && isAtLeast(version, commonSince);

/** Where the agent appears in the submit file. */
export interface AgentInput {
  common: string[];
  input: string[];
}

export function agentInput(plan: Plan, version: CondorVersion): AgentInput {
  if (isCommon(plan, version)) return { common: [`transfer_common_input = ${condorFiles.agent}`], input: [] };
  const place = agentObject(plan)?.url ?? condorFiles.agent;
  return { common: [], input: isInImage(place) ? [] : [place] };
}

/** Bytes that the access point sends to each attempt, besides the agent. */
async function inputBytes(plan: Plan): Promise<number> {
  const data = fetchedBy(plan).flatMap(({ method, url }) =>
    method === 'native' ? [fileURLToPath(url)] : [],
  );
  const image = localImage(plan);
  const files = [...data, ...(image === undefined ? [] : [image])];
  const sizes = await Promise.all(files.map(fileSize));
  return [...plan.files.map(({ bytes }) => bytes), ...sizes].reduce<number>(
    (sum, bytes = 0) => sum + bytes,
    0,
  );
}

/**
 * What the access point sends for a plan, in lines for people. `agentBytes` finds the size of the packed agent; `sends`
 * is the plan with an agent that can be used.
 */
export async function describeSent(
  plan: Plan,
  version: CondorVersion,
  agentBytes: () => Promise<number>,
  sends = plan,
): Promise<string[]> {
  const other = Math.max(...(await Promise.all(variantsOf(plan).map(inputBytes))));
  const object = agentObject(sends);
  if (object !== undefined) {
    const place = object.url.replace(
      /^(?:image:)?/,
      isInImage(object.url) ? 'is in the image: ' : 'comes from ',
    );
    return [perAttempt(plan, other), `the agent ${place}`];
  }
  const agent = await agentBytes();
  if (isCommon(plan, version))
    return [perAttempt(plan, other), `and the agent, ${formatSize(agent)}, at least once per machine`];
  return [
    `${perAttempt(plan, other + agent)}; the agent is ${formatSize(agent)} of it`,
    ...lighter(sends, version, plan.spec.pool?.agent),
  ];
}

const perAttempt = ({ jobs, variants }: Plan, bytes: number): string =>
  `${variants === undefined ? '' : 'at most '}${formatSize(bytes)} per ` +
  `attempt from this access point, ${formatSize(bytes * jobs.length)} for ` +
  `one attempt of ${jobs.length === 1 ? 'the job' : `all ${jobs.length} jobs`}`;

/** How the agent could travel with less load on the access point, or why it does not. */
function lighter(plan: Plan, version: CondorVersion, asked: string | undefined): string[] {
  if (asked === 'common') return [`HTCondor ${version} cannot send it once per machine: ${commonSince} can`];
  if (asked !== plan.spec.pool?.agent)
    return ['not from [pool] agent: that is another version or build; put this one there with updraft env'];
  if (asked !== undefined && !anyNeedsPlugin(plan)) return ['not from [pool] agent: the jobs have no image'];
  if (asked !== undefined)
    return ['not from [pool] agent: the plugin that fetches the data is the agent; use method = "stream"'];
  if (plan.jobs.length === 1 || anyNeedsPlugin(plan)) return [];
  const common = isAtLeast(version, commonSince) ? '; or, once per machine: agent = "common" in [pool]' : '';
  return [`to send it through caches: updraft env agent osdf:///YOUR/FOLDER${common}`];
}
