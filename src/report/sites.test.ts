import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readEventLog } from '../eventlog/read-event-log.ts';
import { temporaryFolder } from '../../test/temporary-folder.ts';
import { columns, sumOver } from './columns.ts';
import { ledger } from './ledger.ts';
import { groupReports } from './sites.ts';

const job = (
  proc: number,
  gpu: string,
  code: number,
): string => `000 (7.00${proc}.000) 2026-01-01 10:00:00 Job submitted from host: <10.0.0.1>
...
001 (7.00${proc}.000) 2026-01-01 10:01:00 Job executing on host: <10.0.0.2?alias=ep${proc}.example.org&x=1>
	SlotName: slot1_1@ep${proc}.example.org
	AvailableGPUs = { GPUs_GPU_1 }
	GPUs_GPU_1 = [ Id = "GPU-1"; DeviceName = "${gpu}"; Capability = 8.0 ]
...
005 (7.00${proc}.000) 2026-01-01 11:01:00 Job terminated.
	(1) Normal termination (return value ${code})
...
`;

test('time on slots is grouped by GPU model, the largest loss first', async (t) => {
  const log = job(0, 'NVIDIA A100', 0) + job(1, 'Tesla V100', 1) + job(2, 'NVIDIA A100', 0);
  const folder = await temporaryFolder(t, { 'job.log': log });
  const { rows } = await ledger(readEventLog(`${folder}/job.log`));
  const [worst, best, ...more] = groupReports(rows, ({ gpu }) => gpu);
  assert.deepEqual(more, []);
  assert.deepEqual(
    [worst?.name, worst?.attempts, worst?.success, worst?.lostSeconds],
    ['Tesla V100', 1, 0, 3600],
  );
  assert.deepEqual([best?.name, best?.attempts, best?.usefulShare], ['NVIDIA A100', 2, 1]);
  assert.equal(sumOver(best!.slotSeconds, columns), 2 * 3660);
  assert.deepEqual(
    groupReports(rows, ({ machine }) => machine).map(({ name }) => name),
    ['ep1.example.org', 'ep0.example.org', 'ep2.example.org'],
  );
});
