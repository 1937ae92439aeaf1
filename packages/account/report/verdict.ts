import { counted } from '@updraft/base';
import { adviceFor, causeTitle, type Cause, isCheaperWithCheckpoints } from '../codes/causes.ts';
import type { AttemptHistory, JobHistory } from '../history/history.ts';
import { savesCheckpoints } from '../history/saved-work.ts';
import { type BrokenMachine, isEverywhere, measured } from './broken-machines.ts';
import type { CacheReport } from './cache-reports.ts';
import {
  causeOfLoss,
  type CountedJobs,
  forEachAttempt,
  lossByCause,
  lostMillis,
  LossTally,
} from './losses.ts';
import { hostOf, siteNames, unknownSite } from './sites.ts';
import type { ResourceReport } from './resource-reports.ts';
import { formatAmount, formatShare } from '@updraft/view/format';

/** The one fact that explains most of what was lost, and what to do about it. */
export interface Verdict {
  kind: 'site' | 'machine' | 'cache' | 'cause';
  /** The site, machine, cache or cause. */
  name: string;
  /** Its share of all lost slot time. */
  share: number;
  text: string;
  /** A line for the submit file or job file that avoids it, or null. */
  line: string | null;
}

/** Where the jobs come from: an HTCondor event log of any submit file, or a run with a job file. */
export type SourceKind = 'log' | 'run';

interface VerdictInput extends CountedJobs {
  source: SourceKind;
  slotMillis: number;
  broken: readonly BrokenMachine[];
  caches: readonly CacheReport[];
  resources: readonly ResourceReport[];
}

/** A smaller loss gets no verdict. */
const [minShareOfSlots, minMillis, minAttempts] = [0.05, 300_000, 3];
/** Fewer attempts at a site, or elsewhere, prove nothing about it. */
const minAttemptsThere = 5;
const majority = 0.5;
/** A site is to blame if attempts elsewhere succeed, and this many times as often. */
const [fineElsewhere, timesAsOften] = [0.25, 3];
/** With this share of a site's loss, a machine is to blame and not the site. */
const nearlyAll = 0.9;

/** Null unless one fact explains most of the loss. */
export function verdictOf(input: VerdictInput): Verdict | null {
  const { lost, bad } = lossOf(input);
  if (lost < Math.max(minMillis, input.slotMillis * minShareOfSlots) || bad < minAttempts) return null;
  const site = worstSite(input, lost, siteNames(input.jobs));
  const machine = worstSite(input, lost, (attempt) => hostOf(attempt.machine));
  const isMachine =
    machine !== null &&
    (site === null || site.name === machine.name || machine.share >= site.share * nearlyAll);
  if (isMachine) return siteVerdict('machine', machine, input);
  if (site !== null) return siteVerdict('site', site, input);
  return cacheVerdict(lost, input) ?? causeVerdict(lost, input);
}

/** What was lost, and in how many attempts that did not succeed. */
function lossOf({ rows }: VerdictInput): { lost: number; bad: number } {
  const loss = { lost: 0, bad: 0 };
  for (const { attempts } of rows)
    for (const row of attempts) {
      const millis = lostMillis(row);
      loss.lost += millis;
      if (!row.good && millis > 0) loss.bad += 1;
    }
  return loss;
}

interface SiteLoss {
  name: string;
  share: number;
  attempts: number;
  good: number;
  cause: Cause | undefined;
  elsewhere: string;
}

type NameOf = (attempt: AttemptHistory) => string;

function worstSite({ jobs, rows }: VerdictInput, lost: number, nameOf: NameOf): SiteLoss | null {
  const bySite = new LossTally<string>();
  let [count, allGood] = [0, 0];
  forEachAttempt({ jobs, rows }, (_, attempt, row) => {
    bySite.add(nameOf(attempt), row);
    count += 1;
    if (row.good) allGood += 1;
  });
  const worst = bySite.worst();
  if (worst === undefined || worst.name === '' || worst.name === unknownSite) return null;
  const { name, attempts, good, millis } = worst;
  const others = count - attempts;
  const shareElsewhere = others === 0 ? 0 : (allGood - good) / others;
  const isWorse =
    others >= minAttemptsThere &&
    shareElsewhere >= fineElsewhere &&
    shareElsewhere >= (good / attempts) * timesAsOften;
  const tookAll = others === 0 && good === 0;
  if (millis < lost * majority || attempts < minAttemptsThere || !(isWorse || tookAll)) return null;
  const { failed, healed, cause } = whatFailedAt(name, { jobs, rows }, nameOf);
  // A job's own failures happen everywhere, unless the same job succeeded elsewhere.
  if (cause !== undefined && (measured.has(cause) || (healed === 0 && isEverywhere(cause)))) return null;
  const elsewhere = tookAll
    ? 'it took every attempt, and nothing was tried elsewhere'
    : healed > 0
      ? `${healed} of its ${counted(failed, 'job')} succeeded elsewhere`
      : `${formatShare(shareElsewhere)} of the attempts elsewhere succeeded`;
  return { name, share: millis / lost, attempts, good, cause, elsewhere };
}

/** The jobs that failed at a site, how often they succeeded elsewhere, and the main cause. */
function whatFailedAt(
  name: string,
  counted: CountedJobs,
  nameOf: NameOf,
): { failed: number; healed: number; cause: Cause | undefined } {
  const failed = new Set<JobHistory>();
  const causes = new LossTally<Cause>();
  forEachAttempt(counted, (job, attempt, row) => {
    if (nameOf(attempt) !== name) return;
    if (!row.good) failed.add(job);
    causes.add(causeOfLoss(job, row), row);
  });
  let healed = 0;
  forEachAttempt(counted, (job, attempt, { good }) => {
    if (good && failed.has(job) && nameOf(attempt) !== name) healed += 1;
  });
  return { failed: failed.size, healed, cause: causes.worst()?.name };
}

const isAddress = (name: string): boolean => /^[\d.]+$|:/.test(name);

/**
 * A line that keeps jobs away from a site or machine; null for a machine known only by its address, which no attribute
 * has, and for machines of a run, whose pool may not support requirements. In a submit file, the self-reference keeps
 * existing requirements. A machine without the attribute is not excluded.
 */
export function avoidLine(kind: 'site' | 'machine', name: string, source: SourceKind): string | null {
  if (kind === 'machine' && (source === 'run' || isAddress(name))) return null;
  // Logs name a site by either attribute.
  const attributes = kind === 'machine' ? ['Machine'] : ['GLIDEIN_ResourceName', 'GLIDEIN_Site'];
  const all = attributes.map((attribute) => `(${attribute} =!= ${JSON.stringify(name)})`).join(' && ');
  return source === 'run' ? `requirements = '${all}'` : `requirements = ($(requirements:True)) && ${all}`;
}

function siteVerdict(kind: 'site' | 'machine', place: SiteLoss, { source, broken }: VerdictInput): Verdict {
  const { name, share, attempts, good, cause, elsewhere } = place;
  const line = avoidLine(kind, name, source);
  const inARow = kind === 'machine' ? broken.find((machine) => machine.name === name)?.inARow : undefined;
  const where = source === 'run' ? 'in `[run]` of the job file' : 'before `queue` in the submit file';
  const text = [
    `${percent(share)} of the loss is at ${name}: ${counted(attempts, 'attempt')}, ` +
      `${good === 0 ? 'none' : good} successful`,
    cause === undefined ? '' : `, mostly because ${causeTitle(cause)}`,
    `; ${elsewhere}.`,
    inARow === undefined ? '' : ` The machine seems broken: ${inARow} attempts failed in a row.`,
    line === null ? '' : ` To avoid it, put this ${where}:`,
  ].join('');
  return { kind, name, share, text, line };
}

const percent = (share: number): string => `${Math.round(share * 100)} %`;

/** Only a run's own journal says which server was given up. */
function cacheVerdict(lost: number, input: VerdictInput): Verdict | undefined {
  const { caches } = input;
  const given = caches.reduce((sum, { setbacks }) => sum + setbacks, 0);
  const [worst] = caches.toSorted((a, b) => b.setbacks - a.setbacks);
  if (worst === undefined || given < minAttempts || caches.length < 2) return undefined;
  const share = (lossByCause(input).losses.get('transfer-stalled')?.millis ?? 0) / lost;
  if (share < majority || worst.setbacks < given * majority) return undefined;
  const text =
    `${percent(share)} of the loss is stalled transfers, and ${worst.name} was given up in ` +
    `${worst.setbacks} of ${given} cases: report it to its operators.`;
  return { kind: 'cache', name: worst.name, share, text, line: null };
}

/** Causes without useful advice. */
const unexplained: ReadonlySet<Cause> = new Set(['unknown', 'silent-end', 'none']);

function causeVerdict(lost: number, input: VerdictInput): Verdict | null {
  const { resources, source } = input;
  const worst = lossByCause(input).worst();
  if (worst === undefined || worst.millis < lost * majority || unexplained.has(worst.name)) return null;
  const { name: cause, attempts: count, millis } = worst;
  const line = cause === 'memory-exceeded' ? memoryLine(resources, source) : null;
  const advice = line === null ? remedyFor(input.jobs, cause, source) : 'Request more:';
  const attempts = `(${counted(count, 'attempt')})`;
  const text =
    cause === 'user'
      ? `${percent(millis / lost)} of the loss is work that a user removed or held ${attempts}.`
      : `${percent(millis / lost)} of the loss has one cause: ${causeTitle(cause)} ${attempts}. ${advice}`;
  return { kind: 'cause', name: cause, share: millis / lost, text, line };
}

/** What helps these jobs against a cause; those that resume from checkpoints are not advised to save some. */
export function remedyFor(jobs: readonly JobHistory[], cause: Cause, source: SourceKind): string {
  const isOfIt = (attempt: AttemptHistory): boolean => attempt.cause === cause;
  const hasIt = (job: JobHistory): boolean => job.cause === cause || job.attempts.some(isOfIt);
  const affected = isCheaperWithCheckpoints(cause) ? jobs.filter(hasIt) : [];
  return adviceFor(cause, source, affected.length > 0 && affected.every(savesCheckpoints));
}

/** The line that requests enough memory, if the log shows how much that is. */
function memoryLine(resources: readonly ResourceReport[], source: SourceKind): string | null {
  const memory = resources.find(({ name }) => name === 'Memory');
  const wanted = memory?.suggested ?? null;
  if (wanted === null) return null;
  const amount = formatAmount(Math.ceil(wanted / 1024), 'GB');
  return source === 'run' ? `memory = "${amount}"` : `request_memory = ${amount.replace(' ', '')}`;
}
