import type { Env } from '../../base/env.ts';
import { attributeOf } from '../../classad/ad.ts';
import { ranOutAttributes } from '../../codes/remedies.ts';
import type { Fault } from '../../fault/fault.ts';
import { readAd } from '../machine/condor-ads.ts';
import type { Chirp } from './chirp.ts';

/** Counts, in the job's own ad, an attempt that ran out of memory or disk: the request grows with the count. */
export async function countShortage(fault: Fault, chirp: Chirp, env: Env): Promise<void> {
  const name = (ranOutAttributes as Partial<Record<string, string>>)[fault.kind];
  if (name === undefined) return;
  const before = attributeOf(readAd(env, '_CONDOR_JOB_AD'), name);
  await chirp.ask(['set_job_attr', name, String((typeof before === 'number' ? before : 0) + 1)]);
}
