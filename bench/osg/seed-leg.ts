import { chmod, copyFile, cp, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { systemClock } from '@updraft/base';
import { logSources } from '@updraft/htcondor/eventlog';
import { readLogs } from '@updraft/account/report';
import type { JobHistory } from '@updraft/account/history';
import { condor, evictAsScripted, openStage, type Setting, type Stage } from './replay.ts';
import { limitSeconds, stallSeconds } from './scenario.ts';

const here = import.meta.dirname;

/** What is left of a variant after its end. */
export interface Finished {
  jobs: JobHistory[];
  /** A job's model file, if it returned one. */
  model: (job: number) => string;
  /** HTCondor's event log of the jobs. */
  log: string;
}

/** Runs the jobs like the published ones: with their wrapper, one cache, and no policy for failures. */
export async function runSeedLeg(setting: Setting): Promise<Finished> {
  await using stage = await openStage(setting, 'seed');
  const submit = await writeFiles(setting, stage);
  const said = await condor(setting, 'condor_submit', '-terse', submit);
  const cluster = Number.parseInt(said, 10);
  const log = path.join(stage.folder, 'events.log');
  const over = new AbortController();
  const signal = AbortSignal.any([over.signal, setting.signal]);
  void evictAsScripted(setting, stage, cluster, signal);
  const operator = new Operator(setting, cluster);
  try {
    for (;;) {
      await systemClock.sleep(1000, setting.signal);
      const { jobs } = await readLogs(await logSources([log]), { signal: setting.signal });
      await operator.check(jobs);
      if (jobs.every((job) => isOver(job) || operator.isLeftHeld(job)))
        return {
          jobs,
          model: (job) => path.join(stage.folder, 'results', String(job), 'model.json'),
          log: path.join(stage.folder, 'events.log'),
        };
    }
  } finally {
    over.abort();
    await condor(setting, 'condor_rm', String(cluster)).catch(() => undefined);
  }
}

const isOver = ({ outcome }: JobHistory): boolean =>
  outcome === 'success' || outcome === 'failed' || outcome === 'removed';

async function writeFiles(setting: Setting, stage: Stage): Promise<string> {
  const { folder } = stage;
  await cp(path.join(here, 'workload'), folder, { recursive: true });
  await copyFile(path.join(here, 'seed/wrapper.sh'), path.join(folder, 'wrapper.sh'));
  await chmod(path.join(folder, 'wrapper.sh'), 0o755);
  for (const job of setting.scenario.jobs.keys()) {
    const own = path.join(folder, 'results', String(job));
    await mkdir(own, { recursive: true });
    // HTCondor sends a plugin only by its name in `initialdir`.
    await copyFile(path.join(here, 'seed/osdf_plugin.py'), path.join(own, 'osdf_plugin'));
    await chmod(path.join(own, 'osdf_plugin'), 0o755);
  }
  const submit = path.join(folder, 'job.sub');
  await writeFile(submit, [...description(setting, stage), ...queue(setting), ''].join('\n'));
  return submit;
}

/** A busy machine is never silent for this long: a shorter timeout would add stalls that the table does not have. */
const minSilenceSeconds = 10;

function description({ scale }: Setting, { folder, onWorker, federation }: Stage): string[] {
  const cache = federation.caches[0]?.httpUrl ?? '';
  const silence = Math.max(minSilenceSeconds, stallSeconds / scale);
  return [
    `executable = ${folder}/wrapper.sh`,
    `arguments = $(ProcId) ${cache}/ospool/weights.json`,
    `environment = "REPLAY_SCENARIO=${onWorker} OSDF_CACHE=${cache} OSDF_SILENCE=${silence}"`,
    `initialdir = ${folder}/results/$(ProcId)`,
    'should_transfer_files = YES',
    'when_to_transfer_output = ON_EXIT',
    `transfer_input_files = osdf:///ospool/train.tar, ${folder}/train.py, ${folder}/machine.py`,
    'transfer_plugins = osdf=osdf_plugin',
    'output = out.txt',
    'error = err.txt',
    `log = ${folder}/events.log`,
    'ulog_execute_attrs = GLIDEIN_ResourceName, Machine',
    'request_cpus = 1',
    'request_memory = 256 MB',
    'request_disk = 100 MB',
    // The pool's own limit in the published runs.
    `allowed_execute_duration = ${Math.ceil(limitSeconds / scale)}`,
  ];
}

/** Each job at the site where the table says it ran; after an eviction, where it continued. */
function queue({ scenario }: Setting): string[] {
  const items = scenario.jobs.map(({ firstSite, lastSite, slots }) => {
    const evictions = slots.filter(({ evictedAfter }) => evictedAfter !== undefined).length;
    return `  ${firstSite} ${lastSite} ${evictions}`;
  });
  return [
    'requirements = TARGET.GLIDEIN_ResourceName == ifThenElse((NumJobStarts ?: 0) < $(evictions), "$(first)", "$(last)")',
    'queue first,last,evictions from (',
    ...items,
    ')',
  ];
}

/** A user who releases jobs that are held for a broken transfer, as in the table, and no others. */
class Operator {
  readonly #setting: Setting;
  readonly #cluster: number;
  /** Released holds by job. */
  readonly #released = new Map<number, number>();

  constructor(setting: Setting, cluster: number) {
    this.#setting = setting;
    this.#cluster = cluster;
  }

  isLeftHeld(job: JobHistory): boolean {
    return job.outcome === 'held' && holdsOf(job) > this.#releases(numberOf(job.id)).length;
  }

  /** Releases every job that is due. */
  async check(jobs: readonly JobHistory[]): Promise<void> {
    for (const job of jobs) {
      const number = numberOf(job.id);
      const done = this.#released.get(number) ?? 0;
      const due = this.#releases(number)[done];
      if (job.outcome !== 'held' || holdsOf(job) <= done || due === undefined) continue;
      const heldSince = job.from + (job.attempts.at(-1)?.spans.at(-1)?.to ?? 0);
      if (systemClock.now() - heldSince < (1000 * due) / this.#setting.scale) continue;
      this.#released.set(number, done + 1);
      await condor(this.#setting, 'condor_release', `${this.#cluster}.${number}`);
    }
  }

  #releases(job: number): number[] {
    return this.#setting.scenario.jobs[job]?.releasedAfter ?? [];
  }
}

const holdsOf = ({ attempts }: JobHistory): number =>
  attempts.filter(({ ending }) => ending === 'held').length;

/** A job's number in its cluster or run. */
export const numberOf = (id: string): number => Number(id.split('.').at(-1));
