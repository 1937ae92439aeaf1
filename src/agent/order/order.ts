import { readFile } from 'node:fs/promises';
import path from 'node:path';
import {
  field,
  flag,
  listOf,
  maybe,
  oneOf,
  shape,
  tableOf,
  text,
  Wrong,
  type Field,
} from '../../base/shape.ts';
import { Fault } from '../../fault/fault.ts';
import { isInside } from '../../job/inside.ts';
import { secretPlaces, unpackModes } from '../../job/choices.ts';
import type { Order, OrderedData, OrderedRecovery, OrderedWorkspace } from '../../job/job.ts';
import type { Resources, Scalar, SecretSource, Train } from '../../job/spec.ts';

/**
 * Reads what the attempt has to do; `complete` adds what only this machine knows.
 */
export async function readOrder(
  file: string,
  complete: (value: unknown) => unknown = (value) => value,
): Promise<Order> {
  const json = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new Fault('order-invalid', `the order ${file} cannot be read: ${(error as Error).message}`, {
      fix: 'name a file that the access point wrote: updraft-agent run ORDER.json',
      cause: error,
    });
  });
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (error) {
    throw new Fault('order-invalid', `the order ${file} is not JSON: ${(error as Error).message}`, {
      fix: 'submit the job again',
      cause: error,
    });
  }
  return parseOrder(isTable(value) ? complete(value) : value, file);
}

const isTable = (value: unknown): boolean => typeof value === 'object' && value !== null;

/** The value as an Order, or a Fault that names the first field that is wrong. */
export function parseOrder(value: unknown, file: string): Order {
  const read = order(value);
  if (!(read instanceof Wrong)) return read;
  throw new Fault('order-invalid', `the order ${file} is wrong: ${read.describe('the order')}`, {
    fix: 'use the agent of the same version as the updraft that wrote the order, or submit the job again',
  });
}

const isNumber = (value: unknown): value is number => typeof value === 'number';
const isText = (value: unknown): value is string => typeof value === 'string';

const word = field<string>('a text', (value) => isText(value) && value !== '');
const amount = field<number>('a number from 0 up', (value) => isNumber(value) && value >= 0);
const ordinal = field<number>(
  'a whole number from 1 up',
  (value) => Number.isInteger(value) && Number(value) >= 1,
);
const scalar = field<Scalar>(
  'a text, a number or true or false',
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
  check: maybe(word),
  checkpoint: maybe(inside),
  checkpointKeep: maybe(ordinal),
  checkpointEverySeconds: maybe(amount),
  env: tableOf(text),
  secrets: maybe(
    tableOf(shape<SecretSource>({ from: oneOf(secretPlaces), name: maybe(word), path: maybe(word) })),
  ),
  quietLimitSeconds: maybe(amount),
  slowLimit: maybe(amount),
});

const data = shape<Omit<OrderedData, 'method'>>({
  name: word,
  url: word,
  into: inside,
  unpack: oneOf(unpackModes),
  expect: shape<OrderedData['expect']>({ files: maybe(amount), bytes: maybe(amount) }),
  sha256: maybe(sha256),
  manifest: maybe(word),
  tokenFile: maybe(word),
  delivered: maybe(absolute),
  arriving: maybe(oneOf([true])),
  caches: maybe(listOf(word)),
  avoidCaches: maybe(listOf(word)),
}) as Field<OrderedData>;

const resources = shape<Pick<Resources, 'cpus' | 'gpus' | 'memoryBytes' | 'timeSeconds'>>({
  cpus: amount,
  gpus: amount,
  memoryBytes: amount,
  timeSeconds: maybe(amount),
}) as Field<Resources>;

const order = shape<Omit<Order, 'brought'>>({
  version: oneOf([1]),
  run: word,
  job: shape<Order['job']>({ id: word, parameters: tableOf(scalar), train }),
  attempt: ordinal,
  isRehearsal: maybe(flag),
  attemptsBefore: maybe(amount),
  data: listOf(data),
  environment: shape<Order['environment']>({
    image: maybe(word),
    python: listOf(word),
    pack: maybe(data),
    imageToken: maybe(word),
    unpacker: maybe(inside),
    workspace: maybe(shape<OrderedWorkspace>({ manifest: absolute, environment: word })),
    fallback: maybe(word),
  }),
  resources,
  recovery: maybe(
    shape<OrderedRecovery>({
      attempts: ordinal,
      failedJobs: maybe(ordinal),
      firstWait: amount,
      mostWait: amount,
    }),
  ),
  filesFrom: absolute,
  scratchParent: absolute,
  resultsTo: absolute,
  attemptFolder: absolute,
  notesFolder: maybe(absolute),
  caches: maybe(listOf(word)),
  avoidCaches: maybe(listOf(word)),
  liveSeconds: maybe(amount),
});
