import { readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { isGone } from '../base/error-reason.ts';
import { createExclusive } from '../base/lease.ts';
import type { ProcessIdentity } from '../base/process-identity.ts';
import { attemptFiles } from './layout.ts';

/**
 * Who decides an attempt's fate: the agent that runs it, or nobody any more (`void` says why). It is made once
 * and never changes, so an attempt cannot run twice, nor run after it was given up. Only an agent that pauses takes its
 * own back.
 */
export type Claim = ProcessIdentity | { void: string };

/** True for the one caller that made the claim; false when the attempt has one already. */
export function makeClaim(attemptFolder: string, claim: Claim): Promise<boolean> {
  return createExclusive(path.join(attemptFolder, attemptFiles.claim), `${JSON.stringify(claim)}\n`);
}

/** Gives up one's own claim, so that the agent that is started next in the same place can claim the attempt. */
export async function dropClaim(attemptFolder: string): Promise<void> {
  await rm(path.join(attemptFolder, attemptFiles.claim), { force: true });
}

/** The attempt's claim, or undefined while nobody has claimed it. */
export async function readClaim(attemptFolder: string): Promise<Claim | undefined> {
  try {
    return JSON.parse(await readFile(path.join(attemptFolder, attemptFiles.claim), 'utf8')) as Claim;
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
}
