import { NoAnswer } from '../http/no-answer.ts';
import type { ControlAnswer } from '../http/request.ts';
import type { Located, ObjectServer } from './located.ts';
import { requestObject, type WireOptions } from './object-request.ts';

/** What a cache has of an object. */
export interface CachedCopy {
  /** `unknown` if the server cannot be asked or does not answer. */
  holds: 'whole' | 'part' | 'none' | 'unknown';
  /** HTTP status; undefined if it does not answer. */
  status?: number;
  bytes?: number;
  /** Seconds it has been there. */
  age?: number;
}

const headerMs = 6_000;

/**
 * Asks a cache whether it has an object, at no cost to the origin: `only-if-cached` keeps it from asking the origin for
 * size and digests, which takes minutes for a big object. XRootD does neither for a HEAD, and its `Age` shows a copy.
 */
export async function askCopy(located: Located, server: ObjectServer, how: WireOptions): Promise<CachedCopy> {
  const head = (headers: Record<string, string> = {}): Promise<ControlAnswer> =>
    requestObject(located, { method: 'HEAD', server, headers, headerMs }, how);
  try {
    const asked = await head({ 'Cache-Control': 'only-if-cached' });
    if (asked.status === 504) return { holds: 'none', status: 504 };
    if (asked.status !== 200) return { holds: 'unknown', status: asked.status };
    const software = asked.headers['server'] ?? '';
    const isXrootd = /^xrootd/i.test(software);
    // Pelican's own cache gives an Age only to a plain HEAD, which costs nothing if it has the object.
    const reported = isXrootd || ageOf(asked) !== undefined ? asked : await head();
    const [age, length] = [ageOf(reported), asked.headers['content-length']];
    // XRootD before 6 reports its version and gives no Age to a HEAD. Later ones do if they have the whole object.
    const without = isXrootd ? (software === 'XRootD' ? 'none' : 'unknown') : 'part';
    const holds = age === undefined ? without : 'whole';
    return {
      holds,
      status: 200,
      ...(age !== undefined && { age }),
      ...(length !== undefined && { bytes: Number(length) }),
    };
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
    return { holds: 'unknown' };
  }
}

const ageOf = ({ headers }: ControlAnswer): number | undefined =>
  headers['age'] === undefined ? undefined : Number(headers['age']);
