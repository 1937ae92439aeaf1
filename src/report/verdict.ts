import { counted } from '../base/counted.ts';
import { causeTitle, adviceFor, type Cause } from '../codes/causes.ts';
import type { JobHistory } from '../history/history.ts';
import type { JobRow } from './ledger.ts';
import { attemptsBySite, type BrokenMachine, isEverywhere, measured } from './broken-machines.ts';
import type { CacheReport } from './cache-reports.ts';
import { hostOf, lostMillis, siteNames, unknownSite } from './sites.ts';
import type { ResourceReport } from './resource-reports.ts';
import { formatAmount, formatShare } from './format.ts';

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

interface VerdictInput {
  source: SourceKind;
  jobs: readonly JobHistory[];
  rows: readonly JobRow[];
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
  const tried = triesOf(input);
  const lost = tried.reduce((sum, { millis }) => sum + millis, 0);
  const bad = tried.filter(({ isGood, millis }) => !isGood && millis > 0).length;
  if (lost < Math.max(minMillis, input.slotMillis * minShareOfSlots) || bad < minAttempts) return null;
  const site = worstSite(tried, lost, ({ site: name }) => name);
  const machine = worstSite(tried, lost, ({ host }) => host);
  const isMachine =
    machine !== null &&
    (site === null || site.name === machine.name || machine.share >= site.share * nearlyAll);
  if (isMachine) return siteVerdict('machine', machine, input);
  if (site !== null) return siteVerdict('site', site, input);
  return cacheVerdict(tried, lost, input.caches) ?? causeVerdict(tried, lost, input);
}

interface TriedAttempt {
  job: JobHistory;
  site: string;
  host: string;
  cause: Cause | undefined;
  isGood: boolean;
  /** Lost. */
  millis: number;
}

function triesOf({ jobs, rows }: VerdictInput): TriedAttempt[] {
  const nameOf = siteNames(jobs);
  return attemptsBySite(jobs, rows).map(({ job, attempt, row }) => {
    const isRemoved = row.millis.lostToRemoval > 0 && row.ending !== 'removed';
    const stalled = row.millis.retriedTransfer > 0 ? 'transfer-stalled' : undefined;
    return {
      job,
      site: nameOf(attempt),
      host: hostOf(attempt.machine),
      // Saved work that was lost with its job was lost to what ended the job.
      cause: isRemoved ? (job.cause ?? row.cause) : (row.cause ?? stalled),
      isGood: row.good,
      millis: lostMillis(row),
    };
  });
}

interface SiteLoss {
  name: string;
  share: number;
  attempts: number;
  good: number;
  cause: Cause | undefined;
  elsewhere: string;
}

function worstSite(
  tried: readonly TriedAttempt[],
  lost: number,
  nameOf: (one: TriedAttempt) => string,
): SiteLoss | null {
  const groups = [...Map.groupBy(tried, nameOf)].map(([name, here]) => ({ name, here, millis: sumOf(here) }));
  const worst = groups.sort((a, b) => b.millis - a.millis)[0];
  if (worst === undefined || worst.name === '' || worst.name === unknownSite) return null;
  const { name, here, millis } = worst;
  const [good, allGood] = [goodOf(here), goodOf(tried)];
  const others = tried.length - here.length;
  const shareElsewhere = others === 0 ? 0 : (allGood - good) / others;
  const isToBlame =
    millis >= lost * majority &&
    here.length >= minAttemptsThere &&
    others >= minAttemptsThere &&
    shareElsewhere >= fineElsewhere &&
    shareElsewhere >= (good / here.length) * timesAsOften;
  if (!isToBlame) return null;
  const failed = new Set(here.filter(({ isGood }) => !isGood).map(({ job }) => job));
  const healed = tried.filter((one) => one.isGood && nameOf(one) !== name && failed.has(one.job)).length;
  const cause = mainCause(here)?.cause;
  // A job's own failures happen everywhere, unless the same job succeeded elsewhere.
  if (cause !== undefined && (measured.has(cause) || (healed === 0 && isEverywhere(cause)))) return null;
  const elsewhere =
    healed > 0
      ? `${healed} of its ${counted(failed.size, 'job')} succeeded elsewhere`
      : `${formatShare(shareElsewhere)} of the attempts elsewhere succeeded`;
  return {
    name,
    share: millis / lost,
    attempts: here.length,
    good,
    cause,
    elsewhere,
  };
}

const sumOf = (tried: readonly TriedAttempt[]): number => tried.reduce((sum, { millis }) => sum + millis, 0);
const goodOf = (tried: readonly TriedAttempt[]): number => tried.filter(({ isGood }) => isGood).length;

function mainCause(
  tried: readonly TriedAttempt[],
): { cause: Cause; here: TriedAttempt[]; millis: number } | undefined {
  return [...Map.groupBy(tried, ({ cause }) => cause)]
    .flatMap(([cause, here]) => (cause === undefined ? [] : [{ cause, here, millis: sumOf(here) }]))
    .sort((a, b) => b.millis - a.millis)[0];
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
    `${percent(share)} of the loss is at ${name}: ${counted(attempts, 'attempt')}, ${good === 0 ? 'none' : good} successful`,
    cause === undefined ? '' : `, mostly because ${causeTitle(cause)}`,
    `; ${elsewhere}.`,
    inARow === undefined ? '' : ` The machine seems broken: ${inARow} attempts failed in a row.`,
    line === null ? '' : ` To avoid it, put this ${where}:`,
  ].join('');
  return { kind, name, share, text, line };
}

const percent = (share: number): string => `${Math.round(share * 100)} %`;

/** Only a run's own journal says which server was given up. */
function cacheVerdict(
  tried: readonly TriedAttempt[],
  lost: number,
  caches: readonly CacheReport[],
): Verdict | undefined {
  const stalled = tried.filter(({ cause }) => cause === 'transfer-stalled');
  const share = sumOf(stalled) / lost;
  const given = caches.reduce((sum, { setbacks }) => sum + setbacks, 0);
  const [worst] = caches.toSorted((a, b) => b.setbacks - a.setbacks);
  if (worst === undefined || given < minAttempts || caches.length < 2) return undefined;
  if (share < majority || worst.setbacks < given * majority) return undefined;
  const text = `${percent(share)} of the loss is stalled transfers, and ${worst.name} was given up in ${worst.setbacks} of ${given} cases: report it to its operators.`;
  return { kind: 'cache', name: worst.name, share, text, line: null };
}

/** Causes without useful advice. */
const unexplained: ReadonlySet<Cause> = new Set(['unknown', 'silent-end', 'none']);

function causeVerdict(
  tried: readonly TriedAttempt[],
  lost: number,
  { resources, source }: VerdictInput,
): Verdict | null {
  const worst = mainCause(tried.filter(({ millis }) => millis > 0));
  if (worst === undefined || worst.millis < lost * majority || unexplained.has(worst.cause)) return null;
  const { cause, here, millis } = worst;
  const line = cause === 'memory-exceeded' ? memoryLine(resources, source) : null;
  const advice = line === null ? adviceFor(cause, source) : 'Request more:';
  const attempts = `(${counted(here.length, 'attempt')})`;
  const text =
    cause === 'user'
      ? `${percent(millis / lost)} of the loss is work that a user removed or held ${attempts}.`
      : `${percent(millis / lost)} of the loss has one cause: ${causeTitle(cause)} ${attempts}. ${advice}`;
  return { kind: 'cause', name: cause, share: millis / lost, text, line };
}

/** The line that requests enough memory, if the log shows how much that is. */
export function memoryLine(resources: readonly ResourceReport[], source: SourceKind): string | null {
  const memory = resources.find(({ name }) => name === 'Memory');
  const wanted = memory?.suggested ?? null;
  if (wanted === null) return null;
  const amount = formatAmount(Math.ceil(wanted / 1024), 'GB');
  return source === 'run' ? `memory = "${amount}"` : `request_memory = ${amount.replace(' ', '')}`;
}
