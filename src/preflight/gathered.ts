import { readFile, stat } from 'node:fs/promises';
import type { Finding } from '@updraft/base';
import { withoutSecrets } from '@updraft/base/secrets';
import type { ObjectFact, TokenFact } from '../check/facts.ts';
import type { ObjectCaches } from '../job/caches.ts';
import {
  environmentSize,
  packName,
  type Plan,
  type PlannedData,
  type PlannedEnvironment,
} from '../job/plan.ts';

/** Something that was inspected, and the result. */
export interface Inspected {
  what: string;
  said: string;
}

/** Something that could not be checked, and why; never omitted. */
export interface Unchecked {
  what: string;
  why: string;
}

/** What one gatherer returns: the facts it could get, and what it could not check. */
export interface Gathered<Facts> {
  facts: Facts;
  looked: Inspected[];
  unchecked: Unchecked[];
}

/** The object to ask about: a data set of a job file, or an input of a submit file. */
export type AskedObject = Pick<ObjectFact, 'label' | 'url' | 'place' | 'declared' | 'isProven'> & {
  tokenFile?: string | undefined;
  manifest?: string | undefined;
  unpack?: PlannedData['unpack'];
  expect?: PlannedData['expect'];
  /** The disk for shards on demand. */
  keepBytes?: number | undefined;
  /** Set for a folder on this machine. */
  folder?: PlannedData['here'];
  /** Jobs get no token from this machine except the one sent with them; the pool may provide others. */
  isAlone?: boolean;
  caches?: ObjectCaches;
};

/** What was found out about one object. */
export interface ObjectReport {
  object?: ObjectFact;
  token?: TokenFact;
  looked?: Inspected;
  unchecked?: Unchecked;
}

export const nothingGathered: Gathered<undefined> = { facts: undefined, looked: [], unchecked: [] };

export const notChecked = <Facts>(facts: Facts, what: string, why: string): Gathered<Facts> => ({
  facts,
  looked: [],
  unchecked: [{ what, why }],
});

/** Why something failed: the first line of its message. */
export const reasonOf = (error: unknown): string =>
  error instanceof DOMException && error.name === 'TimeoutError'
    ? 'no answer in time'
    : error instanceof Error
      ? (error.message.split('\n', 1)[0] ?? '')
      : String(error);

export interface CheckReport {
  findings: Finding[];
  looked: Inspected[];
  unchecked: Unchecked[];
}

/** The same without tokens in URLs: people share reports. */
export const withoutTokens = ({ findings, looked, unchecked }: CheckReport): CheckReport => ({
  findings: findings.map((one) => ({
    ...one,
    message: withoutSecrets(one.message),
    fix: withoutSecrets(one.fix),
  })),
  looked,
  unchecked: unchecked.map(({ what, why }) => ({ what, why: withoutSecrets(why) })),
});

/** Each object's size as its servers report it, by label or URL. */
export const sizesOf = (
  objects: readonly ObjectFact[],
  by: 'label' | 'url' = 'label',
): ReadonlyMap<string, number> =>
  new Map(
    objects.flatMap((object) => {
      const bytes = object.bytes ?? object.servers.find(({ status }) => status === 200)?.bytes;
      return bytes === undefined ? [] : [[object[by], bytes] as const];
    }),
  );

/** Larger than any script written by hand. */
const maxBytes = 1 << 20;

/** The text of a file; undefined for one that cannot be read, is large, or is binary. */
export async function codeText(file: string): Promise<string | undefined> {
  const found = await stat(file).catch(() => undefined);
  if (found?.isFile() !== true || found.size > maxBytes) return undefined;
  const content = await readFile(file).catch(() => undefined);
  return content === undefined || content.includes(0) ? undefined : content.toString('utf8');
}

/** The plan with the sizes that servers report; the disk request does not change. */
export function withSizes(plan: Plan, sizes: ReadonlyMap<string, number>): Plan {
  const data = plan.data.map((source) => sized(source, sizes.get(`data.${source.name}`)));
  const environment = plan.environment && withPackSize(plan.environment, sizes.get(packName));
  return { ...plan, data, ...(environment === undefined ? {} : { environment }) };
}

function withPackSize(environment: PlannedEnvironment, bytes: number | undefined): PlannedEnvironment {
  const { delivery, facts } = environment;
  if (environment.pack === undefined) return environment;
  const pack = sized(environment.pack, bytes);
  const size = environmentSize(delivery, facts, pack);
  return { ...environment, pack, ...(size === undefined ? {} : { size }) };
}

const sized = <Source extends { expect: { bytes?: number } }>(
  source: Source,
  reported: number | undefined,
): Source => {
  const bytes = source.expect.bytes ?? reported;
  return bytes === undefined ? source : { ...source, expect: { ...source.expect, bytes } };
};
