import path from 'node:path';
import type { Env } from '../../base/env.ts';
import type { Order } from '../../job/job.ts';
import type { Scratch } from '../scratch.ts';

/** What leaves room for the names of sockets, of which a path can have 107 characters. */
const longestTmp = 70;

/**
 * The environment of the training: the machine's, then what Updraft tells it, then what the user sets. The folder
 * with the chosen Python stays first on the PATH whoever sets it.
 */
export function trainingEnv(order: Order, scratch: Scratch, env: Env): Record<string, string> {
  const { job, run, attempt, resources } = order;
  const told: Record<string, string | undefined> = {
    // Several attempts may share a machine: each keeps to the cores it asked for unless the pool says otherwise.
    OMP_NUM_THREADS: String(Math.max(1, Math.floor(resources.cpus))),
    // Lines must arrive as they are printed, or a training that works looks like one that hangs.
    PYTHONUNBUFFERED: '1',
    ...env,
    ...(scratch.tmp.length > longestTmp ? {} : { TMPDIR: scratch.tmp }),
    UPDRAFT_RUN: run,
    UPDRAFT_JOB: job.id,
    UPDRAFT_ATTEMPT: String(attempt),
    UPDRAFT_CPUS: String(resources.cpus),
    UPDRAFT_GPUS: String(resources.gpus),
    UPDRAFT_SCRATCH: scratch.root,
    UPDRAFT_WORK: scratch.work,
    UPDRAFT_PROGRESS: scratch.progress,
  };
  if (job.train.checkpoint !== undefined)
    told['UPDRAFT_CHECKPOINT'] = path.join(scratch.work, job.train.checkpoint);
  for (const { name, into } of order.data)
    told[`UPDRAFT_DATA_${inCapitals(name)}`] = path.join(scratch.work, into);
  for (const [name, value] of Object.entries(job.parameters))
    told[`UPDRAFT_PARAM_${inCapitals(name)}`] = String(value);
  Object.assign(told, job.train.env);
  told['PATH'] = [scratch.bin, told['PATH'] ?? '/usr/local/bin:/usr/bin:/bin'].join(':');
  return Object.fromEntries(
    Object.entries(told).filter((pair): pair is [string, string] => pair[1] !== undefined),
  );
}

const inCapitals = (name: string): string => name.toUpperCase().replace(/[^A-Z0-9]+/g, '_');
