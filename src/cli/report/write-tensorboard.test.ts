import assert from 'node:assert/strict';
import { cp, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { runCommand } from '../../../test/cli/run-command.ts';
import { growingRun } from '../../../test/growing-run.ts';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import { runFiles } from '@updraft/account/run-folder';
import { loadPlan } from '../../job/load-plan.ts';
import * as results from '../commands/results.ts';
import { EventFile } from './write-tensorboard.ts';

/** A field of a protocol buffer: its number, and a number or bytes. */
type Field = [number: number, value: number | Buffer];

function* fieldsOf(data: Buffer): Generator<Field> {
  let at = 0;
  const varint = (): number => {
    for (let value = 0, scale = 1; ; scale *= 128) {
      const byte = data[at++] ?? 0;
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
  };
  while (at < data.length) {
    const key = varint();
    const [field, wire] = [key >> 3, key & 7];
    if (wire === 0) yield [field, varint()];
    else if (wire === 1) yield [field, data.readDoubleLE((at += 8) - 8)];
    else if (wire === 5) yield [field, data.readFloatLE((at += 4) - 4)];
    else {
      const length = varint();
      yield [field, data.subarray(at, (at += length))];
    }
  }
}

/** CRC-32C bit by bit, masked as TensorFlow's records have it. */
function masked(data: Buffer): number {
  let crc = 0xffff_ffff;
  for (const byte of data) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f6_3b78 : crc >>> 1;
  }
  const whole = BigInt(~crc >>> 0);
  return Number((((whole >> 15n) | (whole << 17n)) + 0xa282_ead8n) & 0xffff_ffffn);
}

function recordsOf(file: Buffer): Buffer[] {
  const records: Buffer[] = [];
  for (let at = 0; at < file.length;) {
    const head = file.subarray(at, at + 8);
    const length = Number(head.readBigUInt64LE());
    const data = file.subarray(at + 12, at + 12 + length);
    assert.equal(file.readUInt32LE(at + 8), masked(head) >>> 0);
    assert.equal(file.readUInt32LE(at + 12 + length), masked(data) >>> 0);
    records.push(data);
    at += length + 16;
  }
  return records;
}

/** Time, step and values of each point; the version goes before them. */
function pointsOf(file: EventFile): { at: unknown; step: unknown; metrics: object }[] {
  const [version, ...points] = recordsOf(file.content).map((record) => [...fieldsOf(record)]);
  assert.deepEqual(version, [
    [1, 1_700_000_000.5],
    [3, Buffer.from('brain.Event:2')],
  ]);
  return points.map((fields) => {
    const summary = fields.find(([field]) => field === 5)?.[1] as Buffer;
    const values = [...fieldsOf(summary)].map(([, value]) => {
      const [tag, scalar] = [...fieldsOf(value as Buffer)];
      return [String(tag?.[1]), scalar?.[1]];
    });
    const [at, step] = [Number(fields[0]?.[1]) * 1000, fields[1]?.[1]];
    return { at, step, metrics: Object.fromEntries(values) as object };
  });
}

test('an event file has a version, then each point with its time, step and values', () => {
  const points = [
    { at: 1_700_000_000_500, step: 0, metrics: { loss: 0.5 } },
    {
      at: 1_700_000_001_500,
      step: 123_456_789_012,
      metrics: { loss: NaN, [`${'größe/'.repeat(40)}α`]: 0.75 },
    },
    ...Array.from({ length: 3000 }, (_, index) => ({
      at: index * 1000,
      step: 2 ** 40 + index,
      metrics: { loss: 1 },
    })),
  ];
  const file = new EventFile();
  for (const point of points) file.add(point);
  assert.deepEqual(pointsOf(file), points);
});

test('an attempt that resumes replaces the points past its checkpoint, also by longer ones', () => {
  const file = new EventFile();
  for (const step of [1, 2, 3, 4]) file.add({ at: 1_700_000_000_500, step, metrics: { loss: step } });
  file.cutFrom(3);
  file.add({ at: 9, step: 300, metrics: { loss: 0.5, 'val/accuracy': 0.25 } });
  assert.deepEqual(
    pointsOf(file).map(({ step, metrics }) => [step, metrics]),
    [
      [1, { loss: 1 }],
      [2, { loss: 2 }],
      [300, { loss: 0.5, 'val/accuracy': 0.25 }],
    ],
  );
  new EventFile().cutFrom(-1);
  file.add({ at: 10, step: Infinity, metrics: { loss: 1 } });
  assert.equal(pointsOf(file).at(-1)?.step, Number.MAX_SAFE_INTEGER);
});

test('a metric that is void leaves the others of its points', () => {
  const file = new EventFile();
  for (const step of [1, 2, 3, 4])
    file.add({ at: 1_700_000_000_500, step, metrics: { loss: step, ...(step < 4 ? { f1: 0.5 } : {}) } });
  file.forget(['loss'], 2);
  assert.deepEqual(
    pointsOf(file).map(({ step, metrics }) => [step, metrics]),
    [
      [1, { loss: 1, f1: 0.5 }],
      [2, { f1: 0.5 }],
      [3, { f1: 0.5 }],
    ],
  );
});

test('folders of curves are named by the parameters in which jobs differ, whatever their length', async (t) => {
  const cwd = await temporaryFolder(t, {
    'updraft.toml': [
      'name = "x"\n[train]\ncommand = "t {model} {lr}"\noutputs = ["m"]',
      '[run]\nmatrix = { model = ["bert-base-uncased", "distilbert-base-uncased"], lr = [1e-4] }\n',
    ].join('\n'),
  });
  const growing = await growingRun(t, cwd, ['0000', '0001']);
  await writeFile(path.join(growing.folder, runFiles.plan), JSON.stringify(await loadPlan(cwd)));
  for (const job of ['0000', '0001']) await growing.agent(job, 1, { kind: 'progress', step: 1, loss: 1 });
  await runCommand(results, ['--tensorboard', 'curves'], { cwd });
  const folders = await readdir(path.join(cwd, 'curves'));
  assert.deepEqual(folders.sort(), ['0000 model=bert_', '0001 model=distilbert_']);
});

test('all attempts of a job are one curve, in the order of their numbers, in a folder named by its parameters', async (t) => {
  const cwd = await temporaryFolder(t, {
    'updraft.toml':
      'name = "x"\n[train]\ncommand = "t {lr}"\noutputs = ["m"]\n[run]\nmatrix = { lr = [1e-4] }\n',
  });
  const growing = await growingRun(t, cwd, ['0000']);
  await writeFile(path.join(growing.folder, runFiles.plan), JSON.stringify(await loadPlan(cwd)));
  const report = (step: number, loss: number) => ({ kind: 'progress', step, loss }) as const;
  await growing.agent('0000', 10, report(3, 0.25), report(4, 0.125));
  await growing.agent('0000', 1, report(1, 1), report(2, 0.75), report(3, 0.625));
  await growing.agent('0000', 2, { kind: 'heartbeat', memoryBytes: 1, quietSeconds: 0 }, report(2, 0.5));
  const { out } = await runCommand(results, ['--tensorboard', 'curves'], { cwd });
  assert.equal(out, `${path.join(cwd, 'curves')}\n`);
  const folder = path.join(cwd, 'curves/0000 lr=1e-4');
  const [name = ''] = await readdir(folder);
  assert.match(name, /^events\.out\.tfevents\.\d{10}\.updraft$/);
  const [, ...points] = recordsOf(await readFile(path.join(folder, name))).map((one) => [...fieldsOf(one)]);
  assert.deepEqual(
    points.map((fields) => fields[1]?.[1]),
    [1, 2, 3, 4],
  );
});

test('a folder with the same curve under an earlier name of the job is replaced; others stay', async (t) => {
  const cwd = await temporaryFolder(t, {});
  const growing = await growingRun(t, cwd, ['0000']);
  await growing.agent('0000', 1, { kind: 'progress', step: 1, loss: 1 });
  const write = (): Promise<unknown> => runCommand(results, ['--tensorboard', 'curves'], { cwd });
  await write();
  const at = (...parts: string[]): string => path.join(cwd, 'curves', ...parts);
  const [name = ''] = await readdir(at('0000'));
  const copies = [
    ['0000 lr=0.1 epochs=90', name],
    ['0000 of another run', 'events.out.tfevents.1000000000.updraft'],
    ['0000 with notes', name],
    ['0000-mine', name],
  ] as const;
  for (const [folder, file] of copies) await cp(at('0000', name), at(folder, file));
  await writeFile(at('0000 with notes', 'notes.txt'), '');
  await write();
  const left = ['0000', '0000 of another run', '0000 with notes', '0000-mine'];
  assert.deepEqual((await readdir(at())).sort(), left);
});
