import { readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { unlessGone } from '@updraft/base';
import { createExclusive, type ProcessIdentity } from '@updraft/base/processes';
import { attemptFiles } from '@updraft/account/run-folder';

/**
 * Who owns an attempt: the agent that runs it, or no one, because it was given up (`void` says why). A claim is made
 * once and never changes, so an attempt cannot run twice, nor after it was given up. Only an agent that pauses drops
 * its own claim.
 */
export type Claim = ProcessIdentity | { void: string };

/** True for the one caller that made the claim; false when the attempt has one already. */
export const makeClaim = (attemptFolder: string, claim: Claim): Promise<boolean> =>
  createExclusive(path.join(attemptFolder, attemptFiles.claim), `${JSON.stringify(claim)}\n`);

/** Drops this agent's claim, so that the agent started next in the same folder can claim the attempt. */
export async function dropClaim(attemptFolder: string): Promise<void> {
  await rm(path.join(attemptFolder, attemptFiles.claim), { force: true });
}

/** The attempt's claim; undefined while it is unclaimed. */
export async function readClaim(attemptFolder: string): Promise<Claim | undefined> {
  const text = await unlessGone(readFile(path.join(attemptFolder, attemptFiles.claim), 'utf8'));
  return text === undefined ? undefined : (JSON.parse(text) as Claim);
}
