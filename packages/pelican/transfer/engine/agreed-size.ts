import { Fault } from '../../fault.ts';
import { askObject } from '../proof/digest.ts';
import { expectWrong } from '../proof/expect-wrong.ts';
import { describeVersion } from './check-response.ts';
import type { SegmentContext } from './deliver.ts';
import type { Source } from './roster.ts';

const timeoutMs = 3_000;

/**
 * The size of an object whose bytes have arrived without a digest to verify them. If caches sent them, the origin
 * decides; if it says nothing and servers disagree, the majority decides.
 */
export async function agreedSize(
  here: number,
  { origin, pool, shownUrl: about }: Pick<SegmentContext, 'origin' | 'pool' | 'shownUrl'>,
  sources: readonly Source[],
  signal: AbortSignal,
): Promise<number> {
  if (!sources.some(({ server, bytes }) => server.kind === 'cache' && bytes > 0)) return here;
  const known = await origin.answer();
  if (known?.size !== undefined && known.kind !== 'cache') return known.size;
  if (!sources.some(({ disagrees }) => disagrees)) return here;
  const sizes = new Map<number, string[]>();
  const ask = async (source: Source): Promise<void> => {
    const said = source.disagrees ? undefined : source.said?.size;
    const size = said ?? (await askObject(source, pool, timeoutMs, signal, false))?.size;
    if (size !== undefined) sizes.set(size, [...(sizes.get(size) ?? []), source.server.host]);
  };
  await Promise.all(sources.map(ask));
  signal.throwIfAborted();
  const [first, second] = [...sizes].sort(([, one], [, other]) => other.length - one.length);
  if (first === undefined || first[1].length > (second?.[1].length ?? 0)) return first?.[0] ?? here;
  const said = [...sizes].map(([size, hosts]) => `${hosts.join(', ')}: ${size} bytes`).join('; ');
  throw new Fault('object-changed', `${about}: servers have different sizes of it (${said})`, { about, fix });
}

const fix = 'try again when its origin answers, or leave out the cache that is wrong (--avoid-cache)';

/** Starting over did not help. */
export function otherVersions(about: string, sources: readonly Source[]): Fault {
  const said = sources.flatMap(({ server, said: own }) =>
    own === undefined ? [] : [`${server.host}: ${own.size} bytes, ${describeVersion(own)}`],
  );
  const what = `${about}: it changes, or servers have different versions of it (${said.join('; ')})`;
  return new Fault('object-changed', what, { about, fix });
}

/** The Fault if at least two servers agree on another size than the expected one. */
export function wrongSize(about: string, expected: number, sources: readonly Source[]): Fault | undefined {
  const [first, ...others] = sources.filter(({ said }) => said?.size !== undefined);
  const size = first?.said?.size;
  if (size === expected || others.length === 0 || others.some(({ said }) => said?.size !== size))
    return undefined;
  const hosts = sources.map(({ server }) => server.host);
  return expectWrong(about, `${about} has ${size} bytes, expected ${expected}`, hosts);
}
