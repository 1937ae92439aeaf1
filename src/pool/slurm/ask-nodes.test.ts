import assert from 'node:assert/strict';
import { test } from 'node:test';
import { analyseSlots } from '../../check/rules/slots.ts';
import type { Plan } from '../../job/plan.ts';
import { nodeFacts, readNodes } from './slurm-pool.ts';

const listing = [
  'n1|main*|up|idle|8|16000|(null)|avx2,ib|1:00:00',
  'n2|main*|up|drain|8|16000|(null)|avx2|1:00:00',
  'g1|gpu|up|mix|64|512000|gpu:a100:4(S:0-1),nvme:2|avx512|2-00:00:00',
  'g1|long|up|mix|64|512000|gpu:a100:4(S:0-1)|avx512|infinite',
  '',
].join('\n');

const plan = (resources: object, run: object = {}): Plan =>
  ({ spec: { resources: { cpus: 1, gpus: 0, memoryBytes: 1e9, ...resources }, run } }) as Plan;
const where = (...key: string[]) => ({ file: key.join('.'), line: 1 });
const matching = (...of: Parameters<typeof plan>): number =>
  analyseSlots(nodeFacts(plan(...of), where, readNodes(listing))).matching;

test('sinfo is parsed: limits in days, GPUs of several kinds, the default partition', () => {
  const [n1, n2, g1, long] = readNodes(listing);
  assert.deepEqual([n1?.isDefault, n1?.isIdle, n1?.seconds, n1?.gpus], [true, true, 3600, 0]);
  assert.equal(n2?.isUp, false);
  assert.deepEqual([g1?.gpus, g1?.seconds, g1?.memoryBytes], [4, 172_800, 512_000 * 2 ** 20]);
  assert.equal(long?.seconds, Infinity);
});

test('a plan is compared with the nodes of its partition, or of the default one', () => {
  assert.equal(matching({}), 1);
  assert.equal(matching({ timeSeconds: 7200 }), 0);
  assert.equal(matching({ gpus: 1 }), 0);
  assert.equal(matching({ gpus: 4, timeSeconds: 90_000 }, { partition: 'gpu' }), 1);
  assert.equal(matching({ gpus: 4, timeSeconds: 900_000 }, { partition: 'gpu,long' }), 1);
  assert.equal(matching({ gpus: 5 }, { partition: 'gpu,long' }), 0);
  // Processes on two nodes, one for each of their GPUs.
  assert.equal(matching({ gpus: 4, nodes: 2 }, { partition: 'gpu,long' }), 0);
  assert.equal(matching({ gpus: 4, nodes: 1 }, { partition: 'gpu' }), 1);
  assert.equal(matching({}, { requirements: 'avx2&ib' }), 1);
  assert.equal(matching({}, { requirements: 'avx512' }), 0);
  const nowhere = nodeFacts(plan({}, { partition: 'gpus' }), where, readNodes(listing));
  assert.deepEqual([analyseSlots(nowhere).matching, nowhere.conditions[0]?.words], [0, 'partition = "gpus"']);
});
