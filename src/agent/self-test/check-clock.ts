import { readFile } from 'node:fs/promises';
import type { Env } from '../../base/env.ts';
import type { Check, Finding } from './finding.ts';

/** No order was written before this. */
const earliest = Date.UTC(2026, 0, 1);
/** Beyond this, tokens and certificates are judged wrongly. */
const mostBehindMs = 15 * 60_000;

/** Whether the machine's clock can be: it must not be behind the moment at which the access point started the attempt. */
export const checkClock: Check = async ({ world }) => [
  judgeClock(world.clock.now(), await startedByAccessPoint(world.env)),
];

export function judgeClock(now: number, startedAt: number | undefined): Finding {
  const behind = (startedAt ?? earliest) - now;
  const shown = new Date(now).toISOString().slice(0, 19);
  if (behind <= mostBehindMs) return { name: 'clock', ok: true, said: `${shown}Z` };
  const before = startedAt === undefined ? '' : ` when the access point started the attempt it was later`;
  return {
    name: 'clock',
    ok: false,
    said: `it says ${shown}Z, which is ${Math.round(behind / 60_000)} minutes too early:${before || ' Updraft is younger than that'}`,
    fix: 'whoever runs the machine must set its clock: tokens and certificates are judged by it',
  };
}

/** By the access point's clock, in milliseconds; the start may lie long back, since inputs come first. */
async function startedByAccessPoint(env: Env): Promise<number | undefined> {
  const file = env['_CONDOR_JOB_AD'];
  if (file === undefined) return undefined;
  const ad = await readFile(file, 'latin1').catch(() => '');
  const seconds = /^JobCurrentStartDate\s*=\s*(\d+)/m.exec(ad)?.[1];
  return seconds === undefined ? undefined : Number(seconds) * 1000;
}
