import { copyFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { submit, untilOver } from '../osg/updraft-leg.ts';
import type { Finished } from './account.ts';
import { type Setting, type Stage, condorOn } from './stage.ts';

/** An hour of METL without progress, but never so little that a pause of this machine counts as one. */
const quietSeconds = 5400;
const minQuietSeconds = 4;

/** The same with Updraft: a job for each model, from a job file as a user would write it. */
export async function runWithUpdraft(setting: Setting, stage: Stage): Promise<Finished> {
  const { models, epochs, scale } = setting;
  await copyFile(path.join(import.meta.dirname, 'workload/train.py'), path.join(stage.folder, 'train.py'));
  const lines = [
    'name = "metl"',
    '[train]',
    `command = "python3 train.py --model {index} --until ${epochs} --data data/data.bin --state checkpoints/state.json"`,
    'files = ["train.py"]',
    'outputs = ["model.json"]',
    'checkpoint = "checkpoints"',
    `quiet_limit = "${Math.max(minQuietSeconds, Math.ceil(quietSeconds / scale))}s"`,
    `env = { METL_SCENARIO = "${stage.onWorker}" }`,
    '[data.train]',
    'url = "osdf:///metl/data.bin"',
    '[resources]',
    'memory = "300 MB"',
    'disk = "100 MB"',
    '[run]',
    'pool = "condor"',
    `jobs = ${models}`,
    // Of METL's starts at one site, 37 of 100 failed at once.
    'attempts = 40',
    '',
  ];
  await writeFile(path.join(stage.folder, 'updraft.toml'), lines.join('\n'));
  const run = await submit({ pool: stage.pool, agentFor: undefined }, stage);
  try {
    const { jobs } = await untilOver(run, models, setting.signal);
    return {
      jobs,
      modelOf: ({ id }) => Number(id),
      log: path.join(run, 'events.log'),
      file: (model) => path.join(run, 'results', String(model).padStart(4, '0'), 'model.json'),
    };
  } finally {
    await condorOn(stage.pool, 'condor_rm', '-all').catch(() => undefined);
  }
}
