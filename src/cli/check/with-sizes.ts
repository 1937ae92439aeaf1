import type { ObjectFact } from '../../check/facts.ts';
import { environmentSize, packName, type Plan, type PlannedEnvironment } from '../../job/plan.ts';

/** What the servers told of each object's size, by its label. */
export const sizesOf = (objects: readonly ObjectFact[]): ReadonlyMap<string, number> =>
  sizesBy(objects, ({ label }) => label);

/** The same by its URL. */
export const sizesByUrl = (objects: readonly ObjectFact[]): ReadonlyMap<string, number> =>
  sizesBy(objects, ({ url }) => url);

const sizesBy = (
  objects: readonly ObjectFact[],
  nameOf: (object: ObjectFact) => string,
): ReadonlyMap<string, number> =>
  new Map(
    objects.flatMap((object) => {
      const bytes = object.servers.find(({ status }) => status === 200)?.bytes;
      return bytes === undefined ? [] : [[nameOf(object), bytes] as const];
    }),
  );

/** The plan with the sizes that servers told; the disk stays what will be asked for. */
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
  told: number | undefined,
): Source => {
  const bytes = source.expect.bytes ?? told;
  return bytes === undefined ? source : { ...source, expect: { ...source.expect, bytes } };
};
