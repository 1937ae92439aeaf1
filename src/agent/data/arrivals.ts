import { stat } from 'node:fs/promises';
import { defined } from '../../base/defined.ts';
import type { ObjectUrl } from '../../federation/object-url.ts';
import type { OrderedData } from '../../job/job.ts';
import type { Fetched } from '../../transfer/fetch.ts';
import type { Attempt } from '../attempt.ts';
import { accessPointOf } from '../machine/condor-ads.ts';
import type { Note } from '../notes/notes.ts';

/** How an object reached the sandbox before the agent began. */
export interface Arrival extends Pick<Fetched, 'seconds' | 'servers' | 'leftOut'> {
  /** How far our plugin proved it, which has written it all down; undefined where HTCondor itself brought it. */
  verified?: Fetched['verified'];
}

/** Of what lies in the sandbox; undefined for what the agent fetches itself. Asked before the file is read. */
export async function arrivalOf(
  { delivered }: OrderedData,
  url: ObjectUrl,
  { order, world }: Attempt,
): Promise<Arrival | undefined> {
  if (delivered === undefined) return undefined;
  const brought = order.brought?.find(({ object }) => object === url.text);
  const found = brought === undefined ? await stat(delivered).catch(() => undefined) : undefined;
  if (found === undefined) return brought;
  // HTCondor makes a file when its first bytes come, and sets its times when the last have come.
  const { birthtimeMs, ctimeMs, size: bytes } = found;
  const seconds = birthtimeMs > 0 ? Math.max(0, ctimeMs - birthtimeMs) / 1000 : 0;
  const server = url.kind === 'plain' ? new URL(url.href).host : accessPointOf(world.env);
  return { seconds, servers: [{ server, bytes }] };
}

const proofs: Fetched['verified'][] = ['none', 'size', 'digest', 'manifest'];

/** Writes down what was fetched: from whom it came to the sandbox, in how long, and the better of the proofs. */
export function noteFetched(
  object: string,
  fetched: Fetched,
  arrived: Arrival | undefined,
  note: Note,
): Fetched {
  const { verified: before, seconds, servers, leftOut } = arrived ?? fetched;
  const isBetter =
    before === undefined || proofs.indexOf(fetched.verified) > proofs.indexOf(before);
  const { bytes } = fetched;
  const verified = isBetter ? fetched.verified : before;
  const known: Fetched = { bytes, seconds, servers, verified, ...defined({ leftOut }) };
  if (arrived?.verified === undefined || isBetter) note({ kind: 'fetched', object, ...known });
  return known;
}
