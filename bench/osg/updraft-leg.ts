import { execFile } from 'node:child_process';
import { copyFile, cp, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { systemClock } from '../../src/base/clock.ts';
import type { RunState } from '../../src/journal/state.ts';
import { readJournal } from '../../src/journal/tail.ts';
import { runJobs } from '../../src/history/run-jobs.ts';
import { readRunState } from '../../src/run/run-states.ts';
import { condor, evictAsScripted, openStage, type Setting, type Stage } from './replay.ts';
import type { Finished } from './seed-leg.ts';
import { burstsOf, limitSeconds, type Scenario } from './scenario.ts';

const here = import.meta.dirname;
const run = promisify(execFile);

/** Runs the same jobs by `updraft submit`, from a job file as a user would write it. */
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
    return { jobs: runJobs(state), model, run: runFolder };
  } finally {
    over.abort();
    await condor(setting, 'condor_rm', String(cluster)).catch(() => undefined);
  }
}

async function writeFiles(setting: Setting, { folder, scenarioFolder }: Stage): Promise<void> {
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
      // The same work everywhere, and sites that differ by half: what takes twice as long is no usual slot.
      'slow_limit = 2',
      `env = { REPLAY_WORLD = "${scenarioFolder}" }`,
      '[data.train]',
      'url = "osdf:///ospool/train.tar"',
      'unpack = "nested"',
      `sha256 = "${dataset.sha256}"`,
      `expect = { bytes = ${dataset.bytes} }`,
      '[resources]',
      'memory = "128 MB"',
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

/** Of the table's time: so often the next job gets its first slot. Two cores cannot start a hundred agents at once. */
const matchEverySeconds = 660;

/** A job is offered the same slot first as in the other way; what comes after is between Updraft and the pool. */
function firstMatch({ scenario, pool, scale }: Setting): string {
  const names = pool.sites.map((site) => `"${site}"`).join(', ');
  const codes = scenario.jobs.map(({ firstSite }) => pool.sites.indexOf(firstSite)).join('');
  const site = `{${names}}[int(substr("${codes}", ProcId, 1))]`;
  const since = `time() - QDate >= {${turnsOf(scenario).join(',')}}[ProcId] * ${matchEverySeconds / scale}`;
  return `(NumShadowStarts ?: 0) > 0 || (TARGET.GLIDEIN_ResourceName == ${site} && ${since})`;
}

/** The turns in which jobs come: one by one, but those that met the same burst of 404 together. */
function turnsOf(scenario: Scenario): number[] {
  const followers = new Set(burstsOf(scenario).flatMap((burst) => burst.slice(1)));
  let turn = -1;
  return scenario.jobs.map((_, number) => (followers.has(number) ? turn : ++turn));
}

async function submit({ pool }: Setting, { folder, federation }: Stage): Promise<string> {
  const updraft = path.resolve(here, '../../bin/updraft.mjs');
  const env = {
    ...process.env,
    PATH: `${pool.bin}:${process.env['PATH'] ?? ''}`,
    UPDRAFT_OSDF_HOST: federation.discoveryHost,
    SSL_CERT_FILE: federation.caFile,
    // Not scaled like everything else, or a busy machine of two cores could not tell a stall from a pause of its own.
    UPDRAFT_STALL_SECONDS: '1.3',
  };
  const { stdout } = await run(process.execPath, [updraft, 'submit', folder, '--new', '--json'], {
    cwd: folder,
    env,
  });
  return (JSON.parse(stdout) as { folder: string }).folder;
}

/** Who looks at many jobs often takes from them what they are timed by. */
const pollMsPerJob = 100;
/** Rules of a run wait less long than this before they let a job go on. */
const heldForGoodMs = 60_000;

/** All jobs have ended; or those that have not are held, and no rule lets them go on. */
async function untilOver(runFolder: string, jobs: number, signal: AbortSignal): Promise<RunState> {
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
