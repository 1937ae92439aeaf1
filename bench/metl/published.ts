import { chmod, copyFile, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { seededRandom } from '@updraft/account/testing';
import type { JobHistory } from '@updraft/account/history';
import { readLogs } from '@updraft/account/report';
import { systemClock } from '@updraft/base';
import { logSources } from '@updraft/htcondor/eventlog';
import { type Setting, type Stage, condorOn } from './stage.ts';
import type { Finished } from './account.ts';

const here = import.meta.dirname;

/** As METL trained: a job for each epoch, in a chain, each of which fetches the data and the last epoch's result. */
export async function runPublished(setting: Setting, stage: Stage): Promise<Finished> {
  const { models, signal } = setting;
  const log = path.join(stage.folder, 'events.log');
  await writeFile(log, '');
  const over = new AbortController();
  let jobs = new Map<string, JobHistory>();
  const following = (async () => {
    while (!over.signal.aborted) {
      await systemClock.sleep(1000, AbortSignal.any([signal, over.signal])).catch(() => undefined);
      const read = await logSources([log])
        .then((sources) => readLogs(sources, { signal }))
        .catch(() => undefined);
      if (read !== undefined) jobs = new Map(read.jobs.map((job) => [job.id, job]));
    }
  })();
  try {
    const numbers = Array.from({ length: models }, (_, model) => model);
    const owned = await Promise.all(
      numbers.map((model) => chain(setting, stage, model, (id) => jobs.get(id))),
    );
    const modelOf = new Map(owned.flatMap((ids, model) => ids.map((id) => [id, model] as const)));
    return {
      jobs: [...jobs.values()],
      log,
      modelOf: ({ id }) => modelOf.get(id) ?? -1,
      file: (model) => path.join(stage.folder, String(model), 'state.json'),
    };
  } finally {
    over.abort();
    await following;
    await condorOn(stage.pool, 'condor_rm', '-all').catch(() => undefined);
  }
}

/** The epochs of a model, one after the other; the ids of all its jobs. */
async function chain(
  setting: Setting,
  stage: Stage,
  model: number,
  jobOf: (id: string) => JobHistory | undefined,
): Promise<string[]> {
  const { epochs, scale, signal, scenario, seed, say } = setting;
  const random = seededRandom(seed * 1000 + model);
  const ids: string[] = [];
  for (let epoch = 1; epoch <= epochs; epoch++)
    for (;;) {
      const id = await submitEpoch(setting, stage, model, epoch);
      ids.push(id);
      const outcome = await ended(jobOf, id, signal);
      if (outcome === 'success') break;
      say(`published: epoch ${epoch} of model ${model}: ${outcome}`);
      const pause = scenario.pauses[Math.floor(random() * scenario.pauses.length)] ?? 0;
      await systemClock.sleep((1000 * pause) / scale, signal);
    }
  return ids;
}

async function ended(
  jobOf: (id: string) => JobHistory | undefined,
  id: string,
  signal: AbortSignal,
): Promise<string> {
  for (;;) {
    const outcome = jobOf(id)?.outcome ?? 'waiting';
    if (outcome === 'held') throw new Error(`job ${id} as published is held: this replay has a fault`);
    if (!['waiting', 'running'].includes(outcome)) return outcome;
    await systemClock.sleep(500, signal);
  }
}

async function submitEpoch(
  setting: Setting,
  { pool, folder, federation, onWorker }: Stage,
  model: number,
  epoch: number,
): Promise<string> {
  const own = path.join(folder, String(model));
  await mkdir(own, { recursive: true });
  await copyFile(path.join(here, 'workload/train.py'), path.join(own, 'train.py'));
  await copyFile(path.join(here, '../osg/seed/osdf_plugin.py'), path.join(own, 'osdf_plugin'));
  await chmod(path.join(own, 'osdf_plugin'), 0o755);
  const cache = federation.caches[0]?.httpUrl ?? '';
  const state = epoch > 1 ? ', state.json' : '';
  const lines = [
    'executable = /usr/bin/python3',
    'transfer_executable = false',
    `arguments = train.py --model ${model} --until ${epoch}`,
    `environment = "METL_SCENARIO=${onWorker} OSDF_CACHE=${cache} OSDF_SILENCE=60"`,
    `initialdir = ${own}`,
    'should_transfer_files = YES',
    'when_to_transfer_output = ON_SUCCESS',
    // Without it, HTCondor holds a job that fails, since its output is missing.
    'success_exit_code = 0',
    `transfer_input_files = osdf:///metl/data.bin, train.py${state}`,
    'transfer_output_files = model.json',
    'transfer_output_remaps = "model.json = state.json"',
    'transfer_plugins = osdf=osdf_plugin',
    'output = out.txt',
    'error = err.txt',
    `log = ${folder}/events.log`,
    'ulog_execute_attrs = GLIDEIN_ResourceName, Machine',
    ...['request_cpus = 1', 'request_memory = 128 MB', 'request_disk = 50 MB', 'queue', ''],
  ];
  const submit = path.join(own, 'job.sub');
  await writeFile(submit, lines.join('\n'));
  const said = await condorOn(pool, 'condor_submit', '-terse', submit);
  setting.signal.throwIfAborted();
  return `${Number.parseInt(said, 10)}.0`;
}
