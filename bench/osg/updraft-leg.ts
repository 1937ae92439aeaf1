import { execFile } from 'node:child_process';
import { copyFile, cp, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { systemClock } from '@updraft/base';
import { readJournal, type RunState } from '@updraft/account/journal';
import { readRunState } from '../../src/run/run-states.ts';
import { condor, evictAsScripted, openStage, type Setting, type Stage } from './replay.ts';
import type { Finished } from './seed-leg.ts';
import { burstsOf, limitSeconds, type Scenario } from './scenario.ts';

const here = import.meta.dirname;
const run = promisify(execFile);

/** Runs the same jobs with `updraft submit`, from a job file as a user would write it. */
export async function runUpdraftLeg(setting: Setting): Promise<Finished & { run: string }> {
  await using stage = await openStage(setting, 'updraft');
  await writeFiles(setting, stage);
  const runFolder = await submit(setting, stage);
  const { entries } = await readJournal(path.join(runFolder, 'journal.jsonl'));
  const cluster = entries.findLast((entry) => entry.kind === 'submitted')?.cluster ?? 0;
  const over = new AbortController();
  void evictAsScripted(setting, stage, cluster, AbortSignal.any([over.signal, setting.signal]));
  try {
    const state = await untilOver(runFolder, setting.scenario.jobs.length, setting.signal);
    const model = (job: number): string =>
      path.join(runFolder, 'results', String(job).padStart(4, '0'), 'model.json');
    return { jobs: state.jobs, model, log: path.join(runFolder, 'events.log'), run: runFolder };
  } finally {
    over.abort();
    await condor(setting, 'condor_rm', String(cluster)).catch(() => undefined);
  }
}

async function writeFiles(setting: Setting, { folder, onWorker }: Stage): Promise<void> {
  const { scenario, scale, dataset } = setting;
  await mkdir(folder, { recursive: true });
  await cp(path.join(here, 'workload'), folder, { recursive: true });
  await copyFile(path.join(dataset.published, 'weights.json'), path.join(folder, 'weights.json'));
  await writeFile(
    path.join(folder, 'updraft.toml'),
    [
      'name = "osg-replay"',
      '[train]',
      'command = "python3 train.py --seed {index}"',
      'files = ["train.py", "check.py", "machine.py", "weights.json"]',
      'outputs = ["model.json"]',
      'check = "python3 check.py model.json data weights.json {index}"',
      'checkpoint = "checkpoints"',
      // The work is the same and sites differ by half: a slot that takes twice as long is not typical.
      'slow_limit = 2',
      `env = { REPLAY_SCENARIO = "${onWorker}" }`,
      '[data.train]',
      'url = "osdf:///ospool/train.tar"',
      'unpack = "nested"',
      `sha256 = "${dataset.sha256}"`,
      `expect = { bytes = ${dataset.bytes} }`,
      '[resources]',
      'memory = "500 MB"',
      'disk = "100 MB"',
      `time = "${Math.ceil(limitSeconds / scale)}s"`,
      '[run]',
      'pool = "condor"',
      `jobs = ${scenario.jobs.length}`,
      `requirements = '${firstMatch(setting)}'`,
      'attempts = 5',
      '',
    ].join('\n'),
  );
}

/** Seconds of the table between first slots of jobs. Two cores cannot start a hundred agents at the same time. */
const matchEverySeconds = 660;

/** A job gets the same first slot as in the other variant; Updraft and the pool decide the rest. */
function firstMatch({ scenario, pool, scale }: Setting): string {
  const names = pool.sites.map((site) => `"${site}"`).join(', ');
  const codes = scenario.jobs.map(({ firstSite }) => pool.sites.indexOf(firstSite)).join('');
  const site = `{${names}}[int(substr("${codes}", ProcId, 1))]`;
  const since = `time() - QDate >= {${turnsOf(scenario).join(',')}}[ProcId] * ${matchEverySeconds / scale}`;
  return `(NumShadowStarts ?: 0) > 0 || (TARGET.GLIDEIN_ResourceName == ${site} && ${since})`;
}

/** The order in which jobs start: one by one, but those of the same burst of 404 together. */
function turnsOf(scenario: Scenario): number[] {
  const followers = new Set(burstsOf(scenario).flatMap((burst) => burst.slice(1)));
  let turn = -1;
  return scenario.jobs.map((_, number) => (followers.has(number) ? turn : ++turn));
}

/** Submits the job file of a folder as its user would; returns the run's folder. */
export async function submit(
  { pool, agentFor }: Pick<Setting, 'pool' | 'agentFor'>,
  { folder, federation }: Pick<Stage, 'folder' | 'federation'>,
): Promise<string> {
  const updraft = path.resolve(here, '../../bin/updraft.mjs');
  const env = {
    ...process.env,
    PATH: `${pool.bin}:${process.env['PATH'] ?? ''}`,
    UPDRAFT_OSDF_HOST: federation.discoveryHost,
    SSL_CERT_FILE: federation.caFile,
    // Not scaled like everything else: on two busy cores, pauses of the machine itself would count as stalls.
    UPDRAFT_STALL_SECONDS: '1.3',
    ...(agentFor === undefined ? {} : { UPDRAFT_AGENT: await agentFor(pool) }),
  };
  const { stdout } = await run(
    process.execPath,
    [updraft, 'submit', folder, '--new', '--no-check', '--json'],
    {
      cwd: folder,
      env,
    },
  );
  return (JSON.parse(stdout) as { folder: string }).folder;
}

/** Polling many jobs often would slow down what is measured. */
const pollMsPerJob = 100;
/** Longer than any wait of a run's policy before it releases a job. */
const heldForGoodMs = 60_000;

/** Waits until all jobs have ended, or are held without a rule that releases them. */
export async function untilOver(runFolder: string, jobs: number, signal: AbortSignal): Promise<RunState> {
  let movedAt = systemClock.monotonic();
  for (;;) {
    await systemClock.sleep(Math.max(3000, pollMsPerJob * jobs), signal);
    const state = await readRunState(runFolder);
    const moving = state.jobs.filter(({ status, held }) => status !== 'ended' && held === undefined);
    const isOver = state.jobs.every(({ status }) => status === 'ended');
    if (moving.length > 0 || state.jobs.length === 0) movedAt = systemClock.monotonic();
    else if (isOver || systemClock.monotonic() - movedAt > heldForGoodMs) return state;
  }
}
