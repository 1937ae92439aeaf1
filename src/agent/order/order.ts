import { readFile } from 'node:fs/promises';
import path from 'node:path';
import {
  bool,
  field,
  type Field,
  isTable,
  listOf,
  Mismatch,
  oneOf,
  optional,
  recordOf,
  shape,
  text,
} from '@updraft/base';
import { Fault } from '../../fault/fault.ts';
import { isInside } from '../../job/inside.ts';
import { secretPlaces, unpackModes } from '../../job/choices.ts';
import type { WorkOrder, OrderedData, OrderedRecovery, OrderedWorkspace } from '../../job/job.ts';
import type { Resources, Scalar, SecretSource, Train } from '../../job/spec.ts';

/** Reads the work order of the attempt; `complete` adds what only this machine knows. */
export async function readOrder(
  file: string,
  complete: (value: unknown) => unknown = (value) => value,
): Promise<WorkOrder> {
  const json = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new Fault('order-invalid', `the work order ${file} cannot be read: ${(error as Error).message}`, {
      fix: 'name a file that the access point wrote: updraft-agent run ORDER.json',
      cause: error,
    });
  });
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (error) {
    throw new Fault('order-invalid', `the work order ${file} is not JSON: ${(error as Error).message}`, {
      fix: 'submit the job again',
      cause: error,
    });
  }
  return parseOrder(isTable(value) ? complete(value) : value, file);
}

/** The value as a WorkOrder, or a Fault that names the first wrong field. */
export function parseOrder(value: unknown, file: string): WorkOrder {
  const read = order(value);
  if (!(read instanceof Mismatch)) return read;
  throw new Fault('order-invalid', `the work order ${file} is invalid: ${read.describe('the order')}`, {
    fix: 'use the agent of the same version as the updraft that wrote the order, or submit the job again',
  });
}

const isNumber = (value: unknown): value is number => typeof value === 'number';
const isText = (value: unknown): value is string => typeof value === 'string';

const word = field<string>('a non-empty string', (value) => isText(value) && value !== '');
const amount = field<number>('a number from 0 up', (value) => isNumber(value) && value >= 0);
const ordinal = field<number>(
  'a whole number from 1 up',
  (value) => Number.isInteger(value) && Number(value) >= 1,
);
const scalar = field<Scalar>(
  'a string, a number, true or false',
  (value) => isText(value) || isNumber(value) || typeof value === 'boolean',
);
const absolute = field<string>('an absolute path', (value) => isText(value) && path.isAbsolute(value));
const sha256 = field<string>(
  '64 hexadecimal digits',
  (value) => isText(value) && /^[0-9a-f]{64}$/i.test(value),
);
const inside = field<string>('a path inside the work folder', (value) => isText(value) && isInside(value));

const train = shape<Train>({
  command: word,
  files: listOf(inside),
  outputs: listOf(inside),
  check: optional(word),
  checkpoint: optional(inside),
  checkpointKeep: optional(ordinal),
  checkpointEverySeconds: optional(amount),
  env: recordOf(text),
  secrets: optional(
    recordOf(shape<SecretSource>({ from: oneOf(secretPlaces), name: optional(word), path: optional(word) })),
  ),
  quietLimitSeconds: optional(amount),
  slowLimit: optional(amount),
});

const data = shape<Omit<OrderedData, 'method'>>({
  name: word,
  url: word,
  into: inside,
  unpack: oneOf(unpackModes),
  expect: shape<OrderedData['expect']>({ files: optional(amount), bytes: optional(amount) }),
  sha256: optional(sha256),
  manifest: optional(word),
  tokenFile: optional(word),
  delivered: optional(absolute),
  arriving: optional(oneOf([true])),
  keepBytes: optional(amount),
  caches: optional(listOf(word)),
  avoidCaches: optional(listOf(word)),
}) as Field<OrderedData>;

const resources = shape<Pick<Resources, 'cpus' | 'gpus' | 'memoryBytes' | 'timeSeconds'>>({
  cpus: amount,
  gpus: amount,
  memoryBytes: amount,
  timeSeconds: optional(amount),
}) as Field<Resources>;

const recovery = shape<OrderedRecovery>({
  attempts: ordinal,
  failedJobs: optional(ordinal),
  initialBackoff: amount,
  maxBackoff: amount,
});

const order = shape<Omit<WorkOrder, 'brought'>>({
  version: oneOf([1]),
  run: word,
  job: shape<WorkOrder['job']>({ id: word, parameters: recordOf(scalar), train }),
  attempt: ordinal,
  isRehearsal: optional(bool),
  attemptsBefore: optional(amount),
  data: listOf(data),
  environment: shape<WorkOrder['environment']>({
    image: optional(word),
    python: listOf(word),
    pack: optional(data),
    imageToken: optional(word),
    unpacker: optional(inside),
    workspace: optional(shape<OrderedWorkspace>({ manifest: absolute, environment: word })),
    fallback: optional(word),
  }),
  resources,
  limitsMemory: optional(oneOf([true])),
  recovery: optional(recovery),
  meanLifeSeconds: optional(amount),
  filesFrom: absolute,
  scratchParent: absolute,
  resultsTo: absolute,
  attemptFolder: absolute,
  notesFolder: optional(absolute),
  caches: optional(listOf(word)),
  avoidCaches: optional(listOf(word)),
  confirmed: optional(listOf(word)),
  liveSeconds: optional(amount),
});
