import { readFileSync } from 'node:fs';
import type { Env } from '../../base/env.ts';

/** What is left to bring the files home when the training has had this share of the time, and its saving another. */
const shareOfVacateTime = 0.4;

/** How often HTCondor tried to start the job, with this start counted; undefined outside of it. */
export function startsOf(env: Env): number | undefined {
  return numberIn(adText(env, '_CONDOR_JOB_AD'), 'NumShadowStarts');
}

/**
 * The longest that HTCondor lets the job run from now on, in seconds; undefined where it sets no limit. Of its two limits
 * one begins anew with every checkpoint, the other does not. `now` is in milliseconds since the epoch.
 */
export function allowedSeconds(env: Env, now: number): number | undefined {
  const ad = adText(env, '_CONDOR_JOB_AD');
  const [whole, began] = [numberIn(ad, 'AllowedJobDuration'), numberIn(ad, 'JobCurrentStartDate')];
  return least([numberIn(ad, 'AllowedExecuteDuration'), whole && whole - passed(began, now / 1000, whole)]);
}

/** Seconds since the access point began the attempt. More than it allows cannot be: then the two clocks differ. */
function passed(began: number | undefined, now: number, whole: number): number {
  const seconds = began === undefined ? 0 : now - began;
  return seconds < 0 || seconds >= whole ? 0 : seconds;
}

/** How long the training, and then its saving, may take when HTCondor wants the slot back; undefined outside of it. */
export function vacateGraceMs(env: Env): number | undefined {
  const seconds = least([
    numberIn(adText(env, '_CONDOR_MACHINE_AD'), 'MachineMaxVacateTime'),
    numberIn(adText(env, '_CONDOR_JOB_AD'), 'JobMaxVacateTime'),
  ]);
  return seconds === undefined ? undefined : seconds * shareOfVacateTime * 1000;
}

function least(numbers: (number | undefined)[]): number | undefined {
  const known = numbers.filter((number) => number !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}

/** A number, or a product of numbers such as `10 * 60`. */
function numberIn(ad: string, name: string): number | undefined {
  const value = new RegExp(String.raw`^${name}\s*=\s*([\d.]+(?:\s*\*\s*[\d.]+)*)\s*$`, 'im').exec(ad)?.[1];
  return value?.split('*').reduce((product, factor) => product * Number(factor), 1);
}

function adText(env: Env, variable: string): string {
  try {
    return readFileSync(env[variable] ?? '', 'latin1');
  } catch {
    return '';
  }
}
