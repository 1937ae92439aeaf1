import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assignedGpus, parseGpus, type SmiResult } from '../machine/machine.ts';
import { judgeGpus, judgeRoom, judgeTorch } from './test-machine.ts';

const listing = `0, GPU-8c1f4a2b-11, NVIDIA A100-SXM4-80GB, 97
1, GPU-77aa01cd-22, NVIDIA A100-SXM4-80GB, [N/A]
`;
const two: SmiResult = { kind: 'gpus', gpus: parseGpus(listing) };

test('the assigned GPUs are found in nvidia-smi by number or by the beginning of their UUID', () => {
  for (const assigned of [['GPU-8c1f4a2b'], ['1'], ['0', '1'], ['MIG-1234'], undefined])
    assert.equal(judgeGpus({ asked: 1, assigned, smi: two, devices: [] }).ok, true, String(assigned));
});

test('a slot without the promised GPUs fails with what is missing', () => {
  const said = (machine: Partial<Parameters<typeof judgeGpus>[0]>): string => {
    const finding = judgeGpus({ asked: 1, assigned: undefined, smi: two, devices: [], ...machine });
    assert.equal(finding.ok, false, finding.said);
    return finding.said;
  };
  const hidden = assignedGpus({ CUDA_VISIBLE_DEVICES: '10000' });
  assert.equal(said({ assigned: hidden }), 'the job asks for 1 GPU, and the pool gave this slot none');
  assert.match(said({ asked: 2, assigned: ['0'] }), /asks for 2 GPUs, and the pool gave this slot 0$/);
  assert.match(
    said({ assigned: ['GPU-dead'] }),
    /assigned GPU-dead to this attempt, and nvidia-smi does not list it/,
  );
  assert.match(said({ asked: 3 }), /asks for 3 GPUs, and nvidia-smi finds 2/);
  assert.match(said({ smi: { kind: 'silent' } }), /does not answer/);
  const complaint = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.";
  assert.match(said({ smi: { kind: 'failed', said: complaint } }), /communicate with the NVIDIA driver/);
  assert.match(said({ smi: { kind: 'absent' } }), /neither nvidia-smi nor a device like \/dev\/nvidia0/);
  const lost = parseGpus('0, GPU-1, [GPU is lost], [GPU is lost]\n');
  assert.match(said({ smi: { kind: 'gpus', gpus: lost } }), /GPU-1: \[GPU is lost\]/);
});

test('without nvidia-smi, device files are enough', () => {
  const finding = judgeGpus({
    asked: 1,
    assigned: undefined,
    smi: { kind: 'absent' },
    devices: ['/dev/nvidia0'],
  });
  assert.equal(finding.ok, true);
});

test('GPU utilization is read as a number, anything else as unknown', () => {
  assert.deepEqual(
    parseGpus(listing).map(({ percent }) => percent),
    [97, undefined],
  );
});

test('Python must find as many GPUs as the job asks for; without PyTorch nothing is tested', () => {
  const ended = (stdout: string, status = 0, stderr = '') =>
    ({ kind: 'ended', status, stdout, stderr }) as const;
  assert.deepEqual(judgeTorch(1, { kind: 'absent' }), []);
  assert.deepEqual(judgeTorch(1, ended('', 3)), []);
  assert.equal(judgeTorch(1, ended('2.5.1+cu121|12.1|1|12\n'))[0]?.ok, true);
  assert.equal(judgeTorch(1, ended('2.5.1+rocm6|ROCm|0|0\n'))[0]?.ok, true);
  assert.match(
    judgeTorch(2, ended('2.5.1|12.1|1|13\n'))[0]?.said ?? '',
    /finds 1 GPU, and the job asks for 2/,
  );
  assert.match(
    judgeTorch(1, ended('2.11|13.0|1|12\n'))[0]?.said ?? '',
    /needs a newer driver: the driver here supports CUDA 12/,
  );
  const [broken] = judgeTorch(1, ended('', 1, 'cuInit: no CUDA-capable device is detected\n'));
  assert.equal(broken?.ok, false);
  assert.match(broken.said, /cannot be used from Python: cuInit: no CUDA-capable device is detected/);
  assert.equal(judgeTorch(1, { kind: 'silent' })[0]?.ok, false);
});

test('a PyTorch built without GPUs is the fault of the environment, not of the machine', () => {
  const [finding] = judgeTorch(1, { kind: 'ended', status: 0, stdout: '2.5.1+cpu||0|0\n', stderr: '' });
  assert.equal(finding?.fault?.kind, 'environment-broken');
});

test('a disk must have the space that is still needed', () => {
  assert.equal(judgeRoom(50e9, 11e9, '/scratch').ok, true);
  const finding = judgeRoom(3e9, 11e9, '/scratch');
  assert.equal(finding.ok, false);
  assert.equal(finding.said, '3 GB free in /scratch, 11 GB needed');
});
