import { defined } from '../base/defined.ts';
import type { EnvironmentFacts } from '../environment/describe-environment.ts';
import { sizeEnvironment, type Delivery, type EnvironmentSize } from '../environment/size-environment.ts';
import type { OrderedData, OrderedEnvironment } from './job.ts';
import type { DataMethod, DataSource, Environment, Resources } from './spec.ts';
import { formatSize } from './units.ts';

/** The software of a plan beyond what the worker has, as far as it is known before. */
export interface PlannedEnvironment {
  delivery: Delivery;
  /** What the lock says is in it. */
  facts?: EnvironmentFacts;
  /** The room it takes, where its size is known. */
  size?: EnvironmentSize;
  /** The archive of pixi-pack, as it reaches the job. */
  pack?: DataSource & { method: Exclude<DataMethod, 'auto'>; why: string };
}

/** The name under which an archive travels; no data set can have it. */
export const packName = 'environment.pack';

/** The room an environment needs, by its lock, or else by the size of its archive. */
export function environmentSize(
  delivery: Delivery,
  facts: EnvironmentFacts | undefined,
  pack: DataSource | undefined,
): EnvironmentSize | undefined {
  const archive = pack?.expect.bytes;
  // A self-extracting archive is text: four characters for three bytes.
  const packed =
    archive === undefined ? undefined : /\.sh$/i.test(pack?.url ?? '') ? archive * 0.75 : archive;
  const bytes = delivery === 'pack' ? (packed ?? facts?.bytes) : facts?.bytes;
  return bytes === undefined ? undefined : sizeEnvironment(Math.round(bytes), delivery, formatSize);
}

/** The resources of a job with what its environment needs, wherever the user said nothing. */
export function withEnvironment(
  resources: Resources,
  environment: PlannedEnvironment | undefined,
  saysMemory: boolean,
): Resources {
  if (environment === undefined) return resources;
  const { facts, size } = environment;
  const { cuda, capability } = facts?.needs ?? {};
  const gpu = {
    ...defined({ cuda, capability }),
    ...resources.gpu,
  };
  const memoryBytes = saysMemory ? resources.memoryBytes : Math.max(resources.memoryBytes, size?.memory ?? 0);
  return {
    ...resources,
    memoryBytes,
    ...(resources.gpus > 0 && Object.keys(gpu).length > 0 && { gpu }),
  };
}

/** The environment as an attempt is told of it; `place` says where the archive is on the worker. */
export function orderEnvironment<Source extends DataSource>(
  { image, python, unpacker }: Environment,
  pack: Source | undefined,
  place: (pack: Source) => OrderedData,
): OrderedEnvironment {
  return {
    ...defined({ image }),
    python,
    ...(pack !== undefined && { pack: place(pack) }),
    ...defined({ unpacker }),
  };
}
