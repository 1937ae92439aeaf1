import assert from 'node:assert/strict';
import { chmodSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { ManualClock } from '../../../test/agent/manual-clock.ts';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import type { Context } from '../attempt.ts';
import { GpuMeter } from './training-watch.ts';

test("the attempt's own GPU is measured, and not more often than asked", async (t) => {
  const answer =
    '#!/bin/sh\necho "0, GPU-aa11, NVIDIA A100, 10, 550.54.14"; echo "1, GPU-bb22, NVIDIA A100, 70, 550.54.14"\n';
  const folder = await temporaryFolder(t, { 'nvidia-smi': answer });
  chmodSync(path.join(folder, 'nvidia-smi'), 0o755);
  const clock = new ManualClock();
  const env = { PATH: `${folder}:/usr/bin:/bin`, CUDA_VISIBLE_DEVICES: 'GPU-bb22' };
  const meter = new GpuMeter({ clock, env, signal: new AbortController().signal } as unknown as Context);
  assert.equal(meter.take(), undefined);
  await meter.poll(60_000);
  await meter.poll(60_000);
  assert.equal(meter.latest?.percent, 70);
  assert.equal(meter.take(), 70);
  assert.equal(meter.take(), undefined);
});

test('its GPU is idle since the first of the latest samples that say so', async (t) => {
  const folder = await temporaryFolder(t, {});
  const clock = new ManualClock();
  const env = { PATH: `${folder}:/usr/bin:/bin` };
  const meter = new GpuMeter({ clock, env, signal: new AbortController().signal } as unknown as Context);
  const sample = async (percent: number): Promise<number | undefined> => {
    const line = `echo "0, GPU-aa11, NVIDIA A100, ${percent}, 550.54.14"`;
    writeFileSync(path.join(folder, 'nvidia-smi'), `#!/bin/sh\n${line}\n`, { mode: 0o755 });
    await clock.pass(1000);
    await meter.poll(1000);
    return meter.idleSince;
  };
  const since: (number | undefined)[] = [];
  for (const percent of [3, 90, 5, 0]) since.push(await sample(percent));
  const [first = 0] = since;
  assert.deepEqual(since, [first, undefined, first + 2000, first + 2000]);
});
