import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { JobHistory } from '@updraft/account/history';
import { ledgerOf, logReport, noFacts } from '@updraft/account/testing';
import { median } from '../interleave.ts';
import { startPauseSeconds } from '../start-pause.ts';
import type { Setting, Stage } from './stage.ts';

/** What is left of a way after its end. */
export interface Finished {
  jobs: JobHistory[];
  modelOf: (job: Pick<JobHistory, 'id'>) => number;
  /** The model after its last epoch. */
  file: (model: number) => string;
  /** HTCondor's event log of the jobs. */
  log: string;
}

/** Of all time on slots but HTCondor's own pauses, which are not scaled; in METL's time where it is hours. */
export interface Account {
  valid: number;
  attempts: number;
  slotHours: number;
  useful: number;
  lost: number;
  moving: number;
  overhead: number;
  /** From its first submission to its last epoch, as a multiple of the compute that it needed: the models' median. */
  makespan: number;
  /** How often the data was fetched for each epoch. */
  fetched: number;
}

const stepsPerEpoch = 20;

export async function accountFor(setting: Setting, stage: Stage, finished: Finished): Promise<Account> {
  const { jobs, modelOf, file, log } = finished;
  const { models, epochs, scale } = setting;
  const ledger = ledgerOf(jobs, noFacts);
  const pauses = await startPauseSeconds(log);
  const {
    slotSeconds,
    slotTotalSeconds: withPauses,
    attempts,
  } = logReport(jobs, ledger, {
    ...{ logs: [], notes: [] },
  });
  const data = await readFile(path.join(stage.folder, 'published/data.bin'));
  const numbers = Array.from({ length: models }, (_, model) => model);
  const right = await Promise.all(numbers.map((model) => isRight(file(model), model, epochs, data)));
  const spans = numbers.map((model) => {
    const own = jobs.filter((job) => modelOf(job) === model);
    const ids = new Set(own.map(({ id }) => id));
    const rows = ledger.rows.filter(({ job }) => ids.has(job));
    const compute = rows.reduce((sum, { millis }) => sum + millis.usefulCompute, 0);
    return (Math.max(...own.map(({ to }) => to)) - Math.min(...own.map(({ from }) => from))) / compute;
  });
  const slotTotalSeconds = withPauses - pauses;
  const share = (seconds: number): number => seconds / slotTotalSeconds;
  const moving = share(slotSeconds.usefulTransfer);
  const overhead = share(slotSeconds.overhead + slotSeconds.saving + slotSeconds.returning - pauses);
  const useful = share(slotSeconds.usefulCompute);
  return {
    ...{ valid: right.filter(Boolean).length, attempts, useful, moving, overhead },
    lost: 1 - useful - moving - overhead,
    slotHours: (slotTotalSeconds * scale) / 3600,
    makespan: median(spans),
    fetched: attempts / (models * epochs),
  };
}

/** As workload/train.py computes it. */
async function isRight(file: string, model: number, epochs: number, data: Buffer): Promise<boolean> {
  const text = await readFile(file, 'utf8').catch(() => undefined);
  if (text === undefined) return false;
  const sum = (of: string | Buffer): string => createHash('sha256').update(of).digest('hex');
  const of = sum(data);
  let digest = '';
  for (let step = 1; step <= epochs * stepsPerEpoch; step++) digest = sum(`${digest} ${model} ${step} ${of}`);
  return (JSON.parse(text) as { digest: string }).digest === digest;
}
