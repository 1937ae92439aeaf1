import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { defined, type Env } from '@updraft/base';
import { kindOfExit, remedyForKind } from '@updraft/account/codes';
import { attemptFiles } from '@updraft/account/run-folder';
import { readJournal } from '@updraft/account/journal';
import { decide, type EndedAttempt, type Policy } from '@updraft/account/recovery';

/** An attempt that has ended on a node of a cluster, and what is known there about its job. */
export interface AttemptOnNode {
  /** The file of the run's policy, written when the job was queued. */
  policy: string;
  /** The job's own journal. */
  journal: string;
  /** The attempt's folder. */
  folder: string;
  /** The agent's exit code. */
  status: number;
  /** Whether the scheduler asked for the node back. */
  isAsked: boolean;
}

/** What happens to the job next, in a form its script can use: numbers and words that need no quoting. */
export interface NextAttempt {
  outcome: 'failed' | 'evicted';
  again: boolean;
  /** Seconds to wait first. */
  delay: number;
  /** Not on this node. */
  avoid: boolean;
  /** Megabytes of memory to request instead. */
  more?: number;
  moved: boolean;
}

/** An agent killed while its job goes on was killed by the kernel, for lack of memory. */
const killedExitCode = 137;
/** TERM ended it while it started. */
const endedExitCode = 143;
const megabyte = 2 ** 20;

/** Decides, by the policy of every pool, on the next attempt of a job whose attempt did not succeed. */
export async function nextAttempt(ended: AttemptOnNode, env: Env, now: number): Promise<NextAttempt> {
  const policy = JSON.parse(await readFile(ended.policy, 'utf8')) as Policy;
  const queuedAt = (await stat(ended.policy)).mtimeMs;
  const { status, isAsked } = ended;
  const kind = status === killedExitCode ? 'memory-exceeded' : kindOfExit(status);
  const movedOn = kind === 'time-limit' && (await hasMovedOn(ended.folder));
  // An eviction says nothing against the job, and Slurm itself makes it wait.
  if (!movedOn && (isAsked || kind === 'evicted' || status === endedExitCode)) {
    const again = now <= queuedAt + (policy.giveUpSeconds ?? Infinity) * 1000;
    return { outcome: 'evicted', again, delay: 0, avoid: false, moved: false };
  }
  const failed = await earlierFailures(ended.journal);
  const more = kind === 'memory-exceeded' ? moreMemory(policy, env) : undefined;
  const fault = kind && { kind, message: kind };
  failed.push({ outcome: 'failed', fault, endedAt: now, movedOn });
  const decision = decide({ queuedAt, attempts: failed }, policy, now);
  const answer = kind && remedyForKind(kind, failed.length);
  return {
    outcome: 'failed',
    again: decision.do !== 'end' && (kind !== 'memory-exceeded' || more !== undefined),
    delay: decision.do === 'wait' ? Math.ceil((decision.until - now) / 1000) : 0,
    avoid: !movedOn && policy.avoid !== 'none' && (answer === 'elsewhere' || answer === 'more-disk'),
    ...defined({ more }),
    moved: movedOn,
  };
}

/** The failures of the job since it was last submitted. */
async function earlierFailures(journal: string): Promise<EndedAttempt[]> {
  const { entries } = await readJournal(journal);
  const since = entries.findLastIndex(({ kind }) => kind === 'round-started');
  return entries
    .slice(since + 1)
    .filter((entry) => entry.kind === 'attempt-ended')
    .filter(({ outcome, movedOn }) => outcome === 'failed' && movedOn !== true)
    .map(({ t }) => ({ outcome: 'failed', endedAt: Date.parse(t) }));
}

/** Twice what the job has, up to the policy's limit; undefined if that is not more. */
function moreMemory({ memory }: Policy, env: Env): number | undefined {
  const has = Number(env['SLURM_MEM_PER_NODE'] ?? Math.ceil(memory.asked / megabyte));
  const more = Math.min(has * 2, Math.ceil(memory.most / megabyte));
  return more > has ? more : undefined;
}

/** What `hasProgressed` says of the attempt, without its whole state: it saved more than what it was given. */
async function hasMovedOn(folder: string): Promise<boolean> {
  const { entries } = await readJournal(path.join(folder, attemptFiles.journal));
  const given = entries.findLastIndex(({ kind }) => kind === 'checkpoint-restored');
  const checked = entries.slice(given + 1).findLast((entry) => entry.kind === 'resume-checked');
  const isBeyond = given === -1 || checked?.movedOn === true;
  return isBeyond && entries.some(({ kind }) => kind === 'checkpoint-saved');
}

export const shellAssignments = ({ outcome, again, delay, avoid, more, moved }: NextAttempt): string =>
  [
    `outcome=${outcome}`,
    `again=${again ? 1 : ''}`,
    `delay=${delay}`,
    `avoid=${avoid ? 1 : ''}`,
    `more=${more ?? ''}`,
    `moved=${moved ? 1 : ''}`,
  ].join(' ');
