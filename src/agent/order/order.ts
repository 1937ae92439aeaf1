import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { Fault } from '../../fault/fault.ts';
import { isInside } from '../../job/inside.ts';
import type { Order } from '../../job/job.ts';
import { unpackModes } from '../../job/choices.ts';

type Check = (value: unknown, field: string) => void;

/**
 * Reads what the attempt is told to do; `complete` adds what only this machine knows. By hand, so that the executable
 * carries no schema library.
 */
export async function readOrder(
  file: string,
  complete: (value: unknown) => unknown = (value) => value,
): Promise<Order> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new Fault('order-invalid', `the order ${file} cannot be read: ${(error as Error).message}`, {
      fix: 'name a file that the access point wrote: updraft-agent run ORDER.json',
      cause: error,
    });
  });
  let value: unknown;
  try {
    value = JSON.parse(text);
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
  try {
    order(value, '');
  } catch (error) {
    throw new Fault('order-invalid', `the order ${file} is wrong: ${(error as Error).message}`, {
      fix: 'use the agent of the same version as the updraft that wrote the order, or submit the job again',
      cause: error,
    });
  }
  return value as Order;
}

function expect(holds: boolean, field: string, what: string, value: unknown): void {
  if (holds) return;
  const shown = value === undefined ? 'nothing' : JSON.stringify(value).slice(0, 80);
  throw new TypeError(`\`${field}\` must be ${what}, not ${shown}`);
}

const text: Check = (value, field) =>
  expect(typeof value === 'string' && value !== '', field, 'a text', value);
const anyText: Check = (value, field) => expect(typeof value === 'string', field, 'a text', value);
const amount: Check = (value, field) =>
  expect(typeof value === 'number' && value >= 0, field, 'a number from 0 up', value);
const ordinal: Check = (value, field) =>
  expect(Number.isInteger(value) && (value as number) >= 1, field, 'a whole number from 1 up', value);
const scalar: Check = (value, field) =>
  expect(
    ['string', 'number', 'boolean'].includes(typeof value),
    field,
    'a text, a number or true or false',
    value,
  );
const absolute: Check = (value, field) =>
  expect(typeof value === 'string' && path.isAbsolute(value), field, 'an absolute path', value);
const sha256: Check = (value, field) =>
  expect(typeof value === 'string' && /^[0-9a-f]{64}$/i.test(value), field, '64 hexadecimal digits', value);

const inside: Check = (value, field) =>
  expect(typeof value === 'string' && isInside(value), field, 'a path inside the work folder', value);

const oneOf =
  (names: readonly unknown[]): Check =>
  (value, field) =>
    expect(names.includes(value), field, `one of ${names.join(', ')}`, value);
const maybe =
  (check: Check): Check =>
  (value, field) => {
    if (value !== undefined) check(value, field);
  };
const listOf =
  (check: Check): Check =>
  (value, field) => {
    expect(Array.isArray(value), field, 'a list', value);
    for (const [index, item] of (value as unknown[]).entries()) check(item, `${field}[${index}]`);
  };
const tableOf =
  (check: Check): Check =>
  (value, field) => {
    expect(typeof value === 'object' && value !== null && !Array.isArray(value), field, 'a table', value);
    for (const [name, item] of Object.entries(value as object)) check(item, `${field}.${name}`);
  };
const shape =
  (checks: Record<string, Check>): Check =>
  (value, field) => {
    expect(
      typeof value === 'object' && value !== null && !Array.isArray(value),
      field || 'the order',
      'a table',
      value,
    );
    const fields = value as Record<string, unknown>;
    for (const [name, check] of Object.entries(checks))
      check(fields[name], field === '' ? name : `${field}.${name}`);
  };

const train = shape({
  command: text,
  files: listOf(inside),
  outputs: listOf(inside),
  check: maybe(text),
  checkpoint: maybe(inside),
  checkpointKeep: maybe(ordinal),
  checkpointEverySeconds: maybe(amount),
  env: tableOf(anyText),
  quietLimitSeconds: maybe(amount),
  slowLimit: maybe(amount),
});

const data = shape({
  name: text,
  url: text,
  into: inside,
  unpack: oneOf(unpackModes),
  expect: shape({ files: maybe(amount), bytes: maybe(amount) }),
  sha256: maybe(sha256),
  manifest: maybe(text),
  tokenFile: maybe(text),
  delivered: maybe(absolute),
  arriving: maybe(oneOf([true])),
});

const order = shape({
  version: oneOf([1]),
  run: text,
  job: shape({ id: text, parameters: tableOf(scalar), train }),
  attempt: ordinal,
  data: listOf(data),
  environment: shape({
    image: maybe(text),
    python: listOf(text),
    pack: maybe(data),
    unpacker: maybe(inside),
  }),
  resources: shape({ cpus: amount, gpus: amount, memoryBytes: amount, timeSeconds: maybe(amount) }),
  recovery: maybe(
    shape({ attempts: ordinal, failedJobs: maybe(ordinal), firstWait: amount, mostWait: amount }),
  ),
  filesFrom: absolute,
  scratchParent: absolute,
  resultsTo: absolute,
  attemptFolder: absolute,
  notesFolder: maybe(absolute),
  liveSeconds: maybe(amount),
});
