import type { Fateful } from './trouble.ts';

// A claim that the scheduler reuses may have a GPU that nobody requested.
const hasGpu = 'grep -q ^RequestGPUs .job.ad && grep -q ^AssignedGPUs .machine.ad';
const gpuHas = (property: string): string => `grep -q "^GPUs_${property}" .machine.ad`;

export const aboutGpus: Fateful[] = [
  {
    rule: 'gpu-any',
    does: gpuHas('MaxSupportedVersion = 12'),
    lines: ['request_gpus = 1', 'requirements = GLIDEIN_ResourceName == "PDX-Coeus-CE1"'],
    before: 'fails',
    after: 'finds no machine',
  },
  {
    // Without the lines it depends on the machine.
    rule: 'gpu-any',
    does: gpuHas('MaxSupportedVersion = 12'),
    lines: ['request_gpus = 1'],
    before: 'depends',
  },
  {
    rule: 'old-gpu-attributes',
    does: gpuHas('Capability = 8'),
    lines: ['request_gpus = 1', 'requirements = CUDACapability >= 8.0'],
    without: /^requirements/,
    before: 'finds no machine',
  },
  {
    rule: 'old-gpu-attributes',
    does: gpuHas('DeviceName = .*A100'),
    lines: [
      'requirements = OpSys == "LINUX" && CUDAGlobalMemoryMb >= 16000 && (CUDADeviceName == "H200" || regexp("A100", TARGET.CUDADeviceName))',
    ],
    before: 'finds no machine',
  },
  { rule: 'gpu-condition-ignored', does: hasGpu, lines: ['gpus_minimum_memory = 8 GB'], before: 'fails' },
  {
    rule: 'command-as-attribute',
    does: hasGpu,
    lines: ['+request_gpus = 1'],
    without: /^\+request/,
    before: 'fails',
  },
  {
    rule: 'odd-resource',
    does: hasGpu,
    lines: ['request_gpu = 1'],
    without: /^request_gpu /,
    before: 'fails',
  },
  {
    rule: 'odd-resource',
    lines: ['request_memry = 2048'],
    without: /memry/,
    before: 'finds no machine',
  },
  ...[['request_gpus = 80'], ['request_gpus = 1', 'gpus_minimum_capability = 80']].map((lines): Fateful => ({
    rule: 'gpu-nowhere',
    does: hasGpu,
    lines,
    before: 'finds no machine',
  })),
];
