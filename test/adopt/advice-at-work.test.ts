import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { systemClock } from '@updraft/base';
import { waitForChange } from '@updraft/base/processes';
import { childOf } from '../condor/own-pool.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { type AccessPoint, accessPoint, job } from './access-point.ts';
import { adviceFor, linesFor, withLines } from './advised-lines.ts';
import { imageRegistry } from './image-registry.ts';
import { hangMs } from '../hang-limit.ts';

/** Advice about what happens while a job runs: the tests make it happen. */

async function until(isTrue: () => boolean | Promise<boolean>, folder: string): Promise<void> {
  const signal = AbortSignal.timeout(hangMs);
  while (!(await isTrue())) await waitForChange([folder], 500, systemClock, signal);
}

const shell = (does: string, log: string): string[] => [
  ...job('/bin/sh', log),
  `arguments = "-c '${does}'"`,
  'queue',
];

const exitCode = async (here: AccessPoint, log: string): Promise<string | undefined> =>
  /return value (\d+)/.exec(await readFile(here.at(log), 'utf8'))?.[1];

/** Saves a checkpoint in a folder, waits for its eviction, and fails if it then does not find the checkpoint. */
const saving = `#!/bin/sh
if [ ! -e checkpoints/step ]; then
  [ -e "$1" ] && exit 3
  mkdir -p checkpoints; echo 1 > checkpoints/step; touch first model.pt; exit 85
fi
[ -e first ] || exit 0
touch "$1"
while :; do sleep 1; done
`;

/** Writes half of its result, waits for its eviction, and fails if it then finds the half. */
const writing = `#!/bin/sh
[ -e model.pt ] && exit 4
printf half > model.pt
touch "$1"
while :; do sleep 1; done
`;

test('advised lines keep a checkpoint through an eviction, which files without them lose', async (t) => {
  const here = await accessPoint(t);
  if (here === undefined) return;
  const { folder, tool } = here;
  await writeFile(here.at('save.sh'), saving, { mode: 0o755 });
  await writeFile(here.at('write.sh'), writing, { mode: 0o755 });
  const { here: meeting, onWorker } = await here.meet();
  const file = (name: string, program: string, ...lines: string[]): string[] => [
    `executable = ${program}`,
    `arguments = ${onWorker}/${name}`,
    'should_transfer_files = YES',
    `log = ${name}.log`,
    ...lines,
    'queue',
  ];
  const onEvict = 'when_to_transfer_output = ON_EXIT_OR_EVICT';
  const evicted = file('evicted', 'write.sh', onEvict);
  const [code = '', files = ''] = await linesFor(folder, 'evicted-output', evicted);
  const noFiles = file('no-files', 'save.sh', code, 'transfer_output_files = model.pt');
  const noCode = file('no-code', 'save.sh', files);
  const slash = file('slash', 'save.sh', code, `${files}/`);
  assert.deepEqual(await linesFor(folder, 'checkpoint-without-files', noFiles), [files]);
  assert.deepEqual(await linesFor(folder, 'checkpoint-without-code', noCode), [code]);
  assert.deepEqual(await linesFor(folder, 'checkpoint-slash', slash), [files]);
  const right = withLines(file('right', 'save.sh', onEvict), [code, files]);
  const jobs = { evicted, 'no-files': noFiles, slash, right };
  const clusters = await Promise.all(Object.entries(jobs).map(([name, lines]) => here.submit(name, lines)));
  await here.submit('no-code', noCode);
  // A job that lost its slot before the flag has already shown what this is about.
  const isReady = (name: string): boolean =>
    existsSync(path.join(meeting, name)) || here.hasEnded(`${name}.log`);
  await until(() => Object.keys(jobs).every(isReady), meeting);
  const [soft = '', ...hard] = clusters;
  await tool('condor_vacate_job', soft).catch(() => undefined);
  await tool('condor_vacate_job', '-fast', ...hard).catch(() => undefined);
  const logs = [...Object.keys(jobs), 'no-code'].map((name) => `${name}.log`);
  await Promise.all(logs.map((log) => here.ended(log)));
  assert.deepEqual(await Promise.all(logs.map((log) => exitCode(here, log))), ['4', '3', '3', '0', '85']);
});

test('a job that streams its output waits while its access point does not answer; others go on', async (t) => {
  const here = await accessPoint(t);
  if (here === undefined) return;
  const { here: meeting, onWorker } = await here.meet();
  // More than a pipe takes.
  const does = `until [ -e ${onWorker}/go ]; do touch ${onWorker}/$(name); sleep 0.1; done; head -c 300000 /dev/zero; touch ${onWorker}/$(name).done`;
  const lines = withLines(shell(does, '$(name).log'), ['output = $(name).out', 'stream_output = true']);
  const streamed = ['name = streamed', ...lines];
  assert.match(await adviceFor(here.folder, 'streamed-output', streamed), /^remove it/);
  const quiet = ['name = quiet', ...lines.filter((line) => !line.startsWith('stream'))];
  const clusters = [await here.submit('streamed', streamed), await here.submit('quiet', quiet)];
  const isThere = (name: string) => (): boolean => existsSync(path.join(meeting, name));
  await until(() => isThere('streamed')() && isThere('quiet')(), meeting);
  const shadows = await Promise.all(clusters.map((one) => shadowOf(here, one)));
  const resume = (): void => {
    for (const shadow of shadows.splice(0)) process.kill(shadow, 'SIGCONT');
  };
  t.after(resume);
  for (const shadow of shadows) process.kill(shadow, 'SIGSTOP');
  await writeFile(path.join(meeting, 'go'), '');
  await until(isThere('quiet.done'), meeting);
  assert.equal(isThere('streamed.done')(), false, 'it waits for its access point');
  resume();
  await Promise.all([here.ended('streamed.log'), here.ended('quiet.log')]);
  assert.equal(isThere('streamed.done')(), true);
});

test('a log in a folder for temporary files loses what follows its removal; the advised one is whole', async (t) => {
  const here = await accessPoint(t);
  if (here === undefined) return;
  const { here: meeting, onWorker } = await here.meet();
  const scratch = await temporaryFolder(t);
  const log = path.join(scratch, 'job.log');
  const does = `touch ${onWorker}/$(Cluster); until [ -e ${onWorker}/go ]; do sleep 0.1; done`;
  const wrong = shell(does, log);
  const right = withLines(wrong, await linesFor(here.folder, 'log-in-tmp', wrong));
  const clusters = [await here.submit('wrong', wrong), await here.submit('right', right)];
  await until(() => clusters.every((one) => existsSync(path.join(meeting, one))), meeting);
  // As such folders are emptied by age, or when the machine restarts.
  await rm(log);
  await writeFile(path.join(meeting, 'go'), '');
  await until(async () => (await here.tool('condor_q', ...clusters, '-af', 'ClusterId')) === '', meeting);
  assert.equal(existsSync(log), false, 'HTCondor writes no other');
  assert.equal(await exitCode(here, `logs/${clusters[1] ?? ''}.log`), '0');
});

test('two jobs with the same moving tag run in different images; with the advised digest, in one', async (t) => {
  const here = await accessPoint(t);
  if (here === undefined) return;
  const { name, digest, moveLatest } = await imageRegistry(t);
  const lines = (image: string): string[] =>
    withLines(shell('cat /made-by-test', '$(Cluster).log'), [
      `container_image = docker://${image}`,
      'output = $(Cluster).out',
    ]);
  const moving = lines(`${name}:latest`);
  assert.match(
    await adviceFor(here.folder, 'mutable-image', moving),
    /a version tag, or better a digest: …@sha256:…/,
  );
  const jobs = [moving, lines(`${name}:1`), lines(`${name}@${digest}`)];
  const run = async (): Promise<string[]> => {
    const clusters = await Promise.all(jobs.map((one, index) => here.submit(`job-${index}`, one)));
    await Promise.all(clusters.map((one) => here.ended(`${one}.log`)));
    return await Promise.all(clusters.map((one) => readFile(here.at(`${one}.out`), 'utf8')));
  };
  assert.deepEqual(await run(), ['image\n', 'image\n', 'image\n']);
  await moveLatest();
  assert.deepEqual(await run(), ['moved\n', 'image\n', 'image\n']);
});

/** The process that serves a job. It may have served others before, so only its log says which it serves, by the pool's numbers. */
async function shadowOf({ pool }: AccessPoint, cluster: string): Promise<number> {
  const log = await readFile(path.join(pool.home, 'log', 'ShadowLog'), 'utf8');
  const inside = [...log.matchAll(/\((\d+)\.0\) \((\d+)\)/g)].findLast(([, one]) => one === cluster)?.[2];
  const schedd = await childOf(pool.master, 'condor_schedd');
  const children = await readFile(`/proc/${schedd}/task/${schedd}/children`, 'utf8');
  for (const pid of children.trim().split(' ')) {
    const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
    if (/^NSpid:.*\t(\d+)$/m.exec(status)?.[1] === inside) return Number(pid);
  }
  throw new Error(`no shadow of ${cluster}`);
}
