import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Fault } from '@updraft/account/fault';
import type { Plan } from '../../job/plan.ts';
import type { Resources } from '../../job/spec.ts';
import { assertFits } from './local-pool.ts';

const machine = { cpus: 4, memoryBytes: 16e9, gpus: ['GPU-a'] };
const planFor = (resources: Partial<Resources>): Plan =>
  ({
    file: '/p/updraft.toml',
    spec: { resources: { cpus: 1, gpus: 0, memoryBytes: 1e9, ...resources } },
  }) as Plan;

test('a job that needs the whole machine fits', () => {
  assertFits(planFor({ cpus: 4, gpus: 1, memoryBytes: 16e9 }), machine);
});

test('everything that is lacking is reported at once, with both figures', () => {
  assert.throws(
    () => assertFits(planFor({ cpus: 5, gpus: 2, memoryBytes: 20e9 }), machine),
    (fault: Fault) =>
      fault.kind === 'pool-unreachable' &&
      /cpus = 5 \(it has 4\), gpus = 2 \(it has 1\), memory = 20 GB \(it has 16 GB\)/.test(fault.message),
  );
});
