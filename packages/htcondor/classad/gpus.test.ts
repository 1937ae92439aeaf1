import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assignedIn, gpuModelsIn } from './gpus.ts';

const machine = {
  GPUs_GPU_aa11: { DeviceName: 'NVIDIA A100' },
  GPUs_GPU_bb22: { DeviceName: 'Quadro P5000' },
};

test('of the GPUs of a machine, those of the slot count', () => {
  assert.deepEqual(gpuModelsIn({ ...machine, AssignedGPUs: 'GPU-bb22' }), ['Quadro P5000']);
  assert.deepEqual(assignedIn({ assignedgpus: 'GPU-aa11, GPU-bb22' }), ['GPU-aa11', 'GPU-bb22']);
});

test('attributes that assign no known GPU leave all', () => {
  for (const ad of [machine, { ...machine, AssignedGPUs: 'GPU-cc33' }])
    assert.deepEqual(gpuModelsIn(ad), ['NVIDIA A100', 'Quadro P5000']);
});
