import { fileSize, formatSize } from '@updraft/base';
import { fileURLToPath } from 'node:url';
import { agentHash, deliveredName } from '../../../job/layout.ts';
import { fetchedBy, type Plan } from '../../../job/plan.ts';
import { variantsOf } from '../../../job/variants.ts';
import { condorFiles } from '../condor-files.ts';
import { type CondorVersion, isAtLeast } from '../tools/condor-tools.ts';
import { isFederated, localImage } from './render-image.ts';

/** An agent that workers fetch themselves: where from, under which name it arrives, and what it must be. */
export interface AgentObject {
  url: string;
  name: string;
  sha256: string;
}

/** The first version that sends a file once per machine, for all jobs of a submission. */
const commonSince: CondorVersion = '25.14.0';

const archNames: Record<string, string> = { x86_64: 'x64', aarch64: 'arm64' };

/** The workers' architecture, by Node's name, if `requirements` names one; else HTCondor takes machines like this one. */
export function requiredArch({ spec }: Plan): string | undefined {
  const [, name] = /\bArch\s*(?:==|=\?=)\s*"(\w+)"/i.exec(spec.run.requirements ?? '') ?? [];
  return name === undefined ? undefined : archNames[name.toLowerCase()];
}

/** Whether HTCondor fetches data or the image with our plugin: that is the agent, so it must be there first. */
const needsPlugin = (plan: Plan): boolean =>
  fetchedBy(plan).some(({ method }) => method === 'https' || method === 'osdf') || isFederated(plan);

/** All jobs have one launcher: what one of them needs, all get. */
export const anyNeedsPlugin = (plan: Plan): boolean => variantsOf(plan).some(needsPlugin);

/** The agent's object, if the job file names one and the workers can fetch it before they need it. */
export function agentObject(plan: Plan): AgentObject | undefined {
  const url = plan.spec.pool?.agent ?? '';
  const sha256 = agentHash(url);
  if (sha256 === undefined || anyNeedsPlugin(plan)) return undefined;
  return { url, sha256, name: deliveredName(url) };
}

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
  return { common: [], input: [agentObject(plan)?.url ?? condorFiles.agent] };
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

/** What the access point sends for a plan, in lines for people. `agentBytes` finds the size of the packed agent. */
export async function describeSent(
  plan: Plan,
  version: CondorVersion,
  agentBytes: () => Promise<number>,
): Promise<string[]> {
  const other = Math.max(...(await Promise.all(variantsOf(plan).map(inputBytes))));
  const object = agentObject(plan);
  if (object !== undefined) return [perAttempt(plan, other), `the agent comes from ${object.url}`];
  const agent = await agentBytes();
  if (isCommon(plan, version))
    return [perAttempt(plan, other), `and the agent, ${formatSize(agent)}, at least once per machine`];
  return [
    `${perAttempt(plan, other + agent)}; the agent is ${formatSize(agent)} of it`,
    ...lighter(plan, version),
  ];
}

const perAttempt = ({ jobs, variants }: Plan, bytes: number): string =>
  `${variants === undefined ? '' : 'at most '}${formatSize(bytes)} per attempt from this access point, ${formatSize(bytes * jobs.length)} for one attempt of ${jobs.length === 1 ? 'the job' : `all ${jobs.length} jobs`}`;

/** How the agent could travel with less load on the access point, or why it does not. */
function lighter(plan: Plan, version: CondorVersion): string[] {
  const asked = plan.spec.pool?.agent;
  if (asked === 'common') return [`HTCondor ${version} cannot send it once per machine: ${commonSince} can`];
  if (asked !== undefined)
    return ['not from [pool] agent: the plugin that fetches the data is the agent; use method = "stream"'];
  if (plan.jobs.length === 1 || anyNeedsPlugin(plan)) return [];
  const common = isAtLeast(version, commonSince) ? '; or, once per machine: agent = "common" in [pool]' : '';
  return [`to send it through caches: updraft env agent osdf:///YOUR/FOLDER${common}`];
}
