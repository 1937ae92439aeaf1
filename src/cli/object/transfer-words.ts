import { printable } from '../../base/printable.ts';
import { formatSize } from '../../job/units.ts';
import { showMillis } from '../../report/show.ts';
import type { Fetched, FetchEvent, Verified } from '../../transfer/fetch.ts';
import { showRate } from './bars.ts';

const proofs: Record<Verified, string> = {
  manifest: 'verified: every chunk by the manifest',
  digest: 'verified: digest',
  size: 'verified: size only',
  none: 'not verified: no server said a size or a digest',
};

export function verifiedWords(verified: Verified): string {
  return proofs[verified];
}

/** `1.2 GB in 3.1s (390 MB/s)`; the rate is that of the bytes that moved, where some were there before. */
export function amountWords(bytes: number, seconds: number, moved = bytes): string {
  const speed = seconds > 0 && moved > 0 ? ` (${showRate(moved / seconds)})` : '';
  return `${formatSize(bytes)} in ${showMillis(seconds * 1000)}${speed}`;
}

/** `from a and b`, the one that gave most first. */
export function serverWords(servers: Fetched['servers']): string {
  const hosts = servers.toSorted((a, b) => b.bytes - a.bytes).map(({ server }) => server);
  return hosts.length === 0 ? '' : `from ${hosts.join(' and ')}`;
}

type SetbackEvent = Extract<FetchEvent, { kind: 'setback' }>;

/** Who failed, why, and what is done about it. */
export function setbackWords(event: SetbackEvent, isFederated: boolean): string {
  const message = printable(event.fault.message).replace(/\.$/, '');
  const isOurs = event.fault.kind === 'token-expired';
  const who = isOurs || message.includes(event.server) ? '' : `${event.server}: `;
  const done = message.endsWith('another server took over') ? '' : `; ${remedy(event, isFederated)}`;
  return `${who}${message}${done}`;
}

function remedy({ server, fault }: SetbackEvent, isFederated: boolean): string {
  if (server === 'director') return 'going on with the servers it named before';
  if (fault.retryAfterSeconds !== undefined)
    return `it is left alone for ${fault.retryAfterSeconds} s${isFederated ? ', others are asked' : ''}`;
  const elsewhere = isFederated ? 'at another server' : 'again';
  const asking = isFederated ? 'asking another server' : 'asking again';
  switch (fault.kind) {
    case 'data-corrupt':
      return `fetching what is damaged ${isFederated ? 'from another server' : 'again'}`;
    case 'object-changed':
      return `the two versions are not mixed; ${asking}`;
    case 'token-expired':
      return 'waiting for a new one';
    case 'object-missing':
    case 'servers-unreachable':
    case 'token-refused':
    case 'data-wrong':
      return asking;
    default:
      return `going on where it stopped, ${elsewhere}`;
  }
}
