import { readFileSync } from 'node:fs';
import { type Env, tried } from '@updraft/base';
import { type Ad, attributeOf, Expression, parseAdLines } from '@updraft/htcondor/classad';

/** The training may take this share of the vacate time, and saving as much; the rest is for the transfer. */
const shareOfVacateTime = 0.4;

/** How often HTCondor started the job, including this start; undefined outside of HTCondor. */
export function startCount(env: Env): number | undefined {
  return numberAttribute(readAd(env, '_CONDOR_JOB_AD'), 'NumShadowStarts');
}

/** The job's id in its run, if it is a job of an Updraft run. */
export function jobIdOf(env: Env): string | undefined {
  const job = attributeOf(readAd(env, '_CONDOR_JOB_AD'), 'UpdraftJob');
  return typeof job === 'string' && /^\w+$/.test(job) ? job : undefined;
}

/** The sender of what HTCondor itself transfers: a global id starts with the schedd's name, maybe after `user@`. */
export function accessPointOf(env: Env): string {
  const id = attributeOf(readAd(env, '_CONDOR_JOB_AD'), 'GlobalJobId');
  const schedd = typeof id === 'string' ? id.split('#')[0]?.split('@').at(-1) : undefined;
  return ['access point', ...(schedd ? [schedd] : [])].join(' ');
}

/**
 * How long HTCondor lets the job run from now on, in seconds; undefined if it sets no limit. Of its two limits, one
 * restarts with every checkpoint, the other does not. `now` is in milliseconds since the epoch.
 */
export function allowedSeconds(env: Env, now: number): number | undefined {
  const ad = readAd(env, '_CONDOR_JOB_AD');
  const [allowed, startedAt] = [
    numberAttribute(ad, 'AllowedJobDuration'),
    numberAttribute(ad, 'JobCurrentStartDate'),
  ];
  return smallest([
    numberAttribute(ad, 'AllowedExecuteDuration'),
    allowed && allowed - elapsedSeconds(startedAt, now / 1000, allowed),
  ]);
}

/** Seconds since the access point started the attempt; 0 if that is impossible because the two clocks differ. */
function elapsedSeconds(startedAt: number | undefined, now: number, allowed: number): number {
  const seconds = startedAt === undefined ? 0 : now - startedAt;
  return seconds < 0 || seconds >= allowed ? 0 : seconds;
}

/** How long the training, and then saving, may each take when HTCondor wants the slot back; undefined outside of it. */
export function vacateGraceMs(env: Env): number | undefined {
  const seconds = smallest([
    numberAttribute(readAd(env, '_CONDOR_MACHINE_AD'), 'MachineMaxVacateTime'),
    numberAttribute(readAd(env, '_CONDOR_JOB_AD'), 'JobMaxVacateTime'),
  ]);
  return seconds === undefined ? undefined : seconds * shareOfVacateTime * 1000;
}

/** The memory of the slot, which grows with the job's request; undefined outside of HTCondor. */
export function slotMemoryBytes(env: Env): number | undefined {
  const megabytes = numberAttribute(readAd(env, '_CONDOR_MACHINE_AD'), 'Memory');
  return megabytes && megabytes * 2 ** 20;
}

function smallest(numbers: (number | undefined)[]): number | undefined {
  const known = numbers.filter((number) => number !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}

/** A number, or a product of numbers such as `10 * 60`. */
function numberAttribute(ad: Ad, name: string): number | undefined {
  const value = attributeOf(ad, name);
  if (typeof value === 'number') return value >= 0 ? value : undefined;
  if (!(value instanceof Expression) || !/^[\d.]+(?:\s*\*\s*[\d.]+)*$/.test(value.expression))
    return undefined;
  return value.expression.split('*').reduce((product, factor) => product * Number(factor), 1);
}

/** The ad in the file that a variable names; empty if there is none. */
export const readAd = (env: Env, variable: '_CONDOR_JOB_AD' | '_CONDOR_MACHINE_AD'): Ad =>
  tried(() => parseAdLines(readFileSync(env[variable] ?? '', 'utf8').split('\n'))) ?? {};
