import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { systemClock } from '../../src/base/clock.ts';
import { waitForChange } from '../../src/base/wait-for-change.ts';
import { accessPoint, job } from './access-point.ts';
import { linesFor, withLines } from './advised-lines.ts';
import { imageRegistry } from './image-registry.ts';

/** What becomes of a job. */
type Fate = 'succeeds' | 'fails' | 'fails 3 times' | 'cannot start' | 'finds no machine';

/** A job that a rule finds something in, and what becomes of it. */
interface Trouble {
  rule: string;
  /** What the job does with its shell: it succeeds if there is no trouble. */
  does?: string;
  lines: string[];
  /** Lines that the advice says to remove. */
  without?: RegExp;
  /** Instead of the first advised line: another value that the advice names. */
  line?: string;
  before: Fate | 'depends';
  /** Default: it succeeds. */
  after?: Fate;
}

const hasGpu = 'grep -q ^AssignedGPUs .machine.ad';
const gpuHas = (property: string): string => `grep -q "^GPUs_${property}" .machine.ad`;
const isInImage = 'test -e /made-by-test';

const aboutGpus: Trouble[] = [
  {
    rule: 'gpu-any',
    does: gpuHas('MaxSupportedVersion = 12'),
    lines: ['request_gpus = 1', 'requirements = GLIDEIN_ResourceName == "PDX-Coeus-CE1"'],
    before: 'fails',
    after: 'finds no machine',
  },
  {
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
  ...[['request_gpus = 80'], ['request_gpus = 1', 'gpus_minimum_capability = 80']].map((lines): Trouble => ({
    rule: 'gpu-nowhere',
    does: hasGpu,
    lines,
    before: 'finds no machine',
  })),
];

const aboutFiles: Trouble[] = [
  {
    rule: 'transfer-if-needed',
    does: 'cat a.txt',
    lines: [
      'should_transfer_files = IF_NEEDED',
      'transfer_input_files = a.txt',
      // The access point and the worker say that they share their files; they do not.
      '+FileSystemDomain = "spark-a001.chtc.example"',
      'requirements = GLIDEIN_ResourceName == "CHTC-Spark-CE1"',
    ],
    before: 'cannot start',
  },
  { rule: 'odd-amount', lines: ['request_disk = "8 GB"'], before: 'finds no machine' },
  {
    rule: 'hidden-retries',
    does: 'false',
    lines: ['success_exit_code = 0'],
    line: 'max_retries = 0',
    before: 'fails 3 times',
    after: 'fails',
  },
];

const aboutImages = (image: string): Trouble[] => [
  ...[image, `docker:${image}`].map((name): Trouble => ({
    rule: 'no-image',
    does: isInImage,
    lines: [`container_image = ${name}`],
    before: 'cannot start',
  })),
  {
    rule: 'singularity-image',
    does: isInImage,
    lines: [`+SingularityImage = "docker://${image}"`],
    without: /^\+Sing/,
    before: 'fails',
  },
  {
    rule: 'docker-universe',
    does: isInImage,
    lines: ['universe = docker', `docker_image = ${image}`],
    without: /^(universe|docker_image)/,
    before: 'finds no machine',
  },
];

test('jobs are in the trouble that is reported, and the advised lines end it', async (t) => {
  const here = await accessPoint(t);
  if (here === undefined) return;
  await writeFile(here.at('a.txt'), '');
  const jobs: { name: string; lines: string[]; expected: Fate }[] = [];
  const troubles = [...aboutGpus, ...aboutFiles, ...aboutImages(await imageRegistry(t))];
  for (const [index, { rule, does = 'true', before, after = 'succeeds', ...one }] of troubles.entries()) {
    const ofJob = (name: string): string[] => [
      ...job('/bin/sh', `${name}.log`),
      `arguments = "-c '${does.replaceAll('"', '""')}'"`,
      'queue',
    ];
    const [wrong, right] = [`${rule}-${index}`, `${rule}-${index}-right`];
    const lines = withLines(ofJob(wrong), one.lines);
    if (before !== 'depends') jobs.push({ name: wrong, lines, expected: before });
    const advised = await linesFor(here.folder, rule, lines);
    const kept = withLines(ofJob(right), one.lines).filter((line) => one.without?.test(line) !== true);
    const better = withLines(kept, one.line === undefined ? advised : [one.line]);
    jobs.push({ name: right, lines: better, expected: after });
  }
  const clusters = new Map<string, string>();
  await Promise.all(jobs.map(async ({ name, lines }) => clusters.set(name, await here.submit(name, lines))));
  const signal = AbortSignal.timeout(240_000);
  const open = new Set(jobs);
  while (open.size > 0) {
    const rejected = await here.tool('condor_q', '-constraint', 'LastRejMatchTime > 0', '-af', 'ClusterId');
    for (const one of open) {
      const fate = await fateIn(here.at(`${one.name}.log`));
      const isRejected = rejected.split('\n').includes(clusters.get(one.name) ?? '');
      // A machine may be busy: only once all others have found theirs is a job believed that finds none.
      const isLast = [...open].every(({ expected }) => expected === 'finds no machine');
      if (fate === undefined && !(isLast && isRejected)) continue;
      assert.equal(fate ?? 'finds no machine', one.expected, [one.name, ...one.lines].join('\n'));
      open.delete(one);
    }
    const logs = [...open].map(({ name }) => here.at(`${name}.log`));
    if (logs.length > 0) await waitForChange(logs, 500, systemClock, signal);
  }
});

/** What has become of the job of a log. */
async function fateIn(log: string): Promise<Fate | undefined> {
  const text = await readFile(log, 'utf8');
  const times = text.split('\n001 (').length - 1;
  const [, status] = /\n005 .*\n.*return value (\d+)/.exec(text) ?? [];
  if (status !== undefined) return status === '0' ? 'succeeds' : times === 3 ? 'fails 3 times' : 'fails';
  // An error of the starter; the hold follows ten seconds later.
  return /\n0(?:12|21) \(/.test(text) ? 'cannot start' : undefined;
}
