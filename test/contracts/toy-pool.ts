import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import path from 'node:path';
import type { Clock } from '@updraft/base';
import { kinds } from '@updraft/account/fault';
import { attemptFolder, runFiles } from '@updraft/account/run-folder';
import { orderEnvironment } from '../../src/job/plan.ts';
import type { PoolTraits } from '../../src/job/pool-traits.ts';
import { submitFileLines } from '../../src/job/submit-lines.ts';
import { fold, JournalTail, openJournal, readJournal } from '@updraft/account/journal';
import { agentCommand } from '../../src/pool/find-agent.ts';
import { readAttemptExit } from '../../src/pool/attempt-exit.ts';
import type { Pool, PoolKind, PoolRecords, PoolContext } from '../../src/pool/pool.ts';
import { policyOf } from '@updraft/account/recovery';

const traits: PoolTraits = {
  title: 'the toy',
  runsHere: true,
  supervises: false,
  sharesFolder: true,
  hasNodes: false,
  hasPlugins: false,
  needsImageHere: true,
  imageTools: [],
  ranksSlots: false,
  submitLines: submitFileLines,
};
const account = 'toy.jsonl';
const backoff = { initialBackoff: 1, maxBackoff: 1, immediateRetries: 1, forgetAfter: 0 };

const records: PoolRecords = {
  traits,
  account: () => Promise.resolve({}),
  source(runFolder) {
    const tail = new JournalTail(path.join(runFolder, account));
    return Promise.resolve({ paths: [tail.path], read: () => tail.read() });
  },
};

/** A fourth pool: its scheduler is this process, starts all jobs at once and forgets them at exit. */
export const toyKind: PoolKind = { ...records, open: toyPool };

function toyPool(start: PoolContext): Pool {
  const scheduler = new Scheduler(start);
  return {
    ...records,
    limits: () => Promise.resolve(undefined),
    policies: ({ spec, disk }) => Promise.resolve([policyOf(spec, { diskBytes: disk.bytes, backoff })]),
    examine: () => Promise.resolve('a toy, and it answers'),
    slots: () => Promise.resolve(undefined),
    render({ spec, data, environment, jobs, isRehearsal }, run, round) {
      const included = new Set(round?.jobs ?? jobs.map(({ id }) => id));
      const same = {
        version: 1,
        run,
        data,
        isRehearsal,
        resources: spec.resources,
        filesFrom: runFiles.files,
      };
      const software = orderEnvironment(spec.environment, environment?.pack, (pack) => pack);
      const folder = round === undefined ? 'toy' : `${runFiles.rounds}/${round.number}`;
      const files: Record<string, string> = {};
      for (const job of jobs)
        if (included.has(job.id))
          files[`${folder}/${job.id}.json`] = JSON.stringify({ ...same, job, environment: software });
      return Promise.resolve({ summary: 'for the toy', files });
    },
    submit: (runFolder) => scheduler.submit(runFolder),
    stop: (runFolder, jobs) => scheduler.stop(runFolder, jobs),
    release: (_, jobs) => Promise.resolve([...jobs]),
    output: () => Promise.resolve(undefined),
    evict: (runFolder, job) => scheduler.evict(runFolder, job),
  };
}

class Scheduler {
  readonly #start: PoolContext;
  readonly #submitted = new Set<string>();
  readonly #agents = new Map<string, ChildProcess>();
  readonly #stopped = new Set<string>();

  constructor(start: PoolContext) {
    this.#start = start;
  }

  async submit(runFolder: string): Promise<void> {
    const { entries } = await readJournal(path.join(runFolder, runFiles.journal));
    const all = fold(entries).jobs.map(({ id }) => id);
    const rounds = entries.filter((entry) => entry.kind === 'round-started');
    const orders = [
      { round: 1, folder: 'toy', jobs: all },
      ...rounds.map(({ round, jobs }) => ({ round, folder: `${runFiles.rounds}/${round}`, jobs })),
    ];
    for (const { round, folder, jobs } of orders) {
      if (this.#submitted.has(`${runFolder}/${folder}`)) continue;
      this.#submitted.add(`${runFolder}/${folder}`);
      const before = fold([...entries, ...(await readJournal(path.join(runFolder, account))).entries]).jobs;
      // As in a scheduler's log: read after the run's journal, it shows the jobs waiting again.
      const why = 'the toy took it';
      if (round > 1) await note(runFolder, this.#start.clock, { kind: 'round-started', round, jobs, why });
      for (const job of jobs) {
        this.#stopped.delete(`${runFolder}/${job}`);
        const tried = before.find(({ id }) => id === job)?.attempts.length ?? 0;
        void this.#run(runFolder, path.join(runFolder, folder, `${job}.json`), job, tried + 1);
      }
    }
  }

  evict(runFolder: string, job: string): Promise<void> {
    this.#agents.get(`${runFolder}/${job}`)?.kill('SIGTERM');
    return Promise.resolve();
  }

  async stop(runFolder: string, jobs: readonly string[]): Promise<void> {
    for (const job of jobs) {
      this.#stopped.add(`${runFolder}/${job}`);
      const agent = this.#agents.get(`${runFolder}/${job}`);
      if (agent === undefined) continue;
      agent.kill('SIGTERM');
      await once(agent, 'close');
    }
  }

  /** Runs attempts of one job until one of them is the last. */
  async #run(runFolder: string, order: string, job: string, attempt: number): Promise<void> {
    const { clock } = this.#start;
    const folder = attemptFolder(runFolder, job, attempt);
    await mkdir(folder, { recursive: true });
    await note(runFolder, clock, { kind: 'attempt-started', job, attempt, why: 'the toy started it' });
    const code = await this.#attempt(runFolder, order, job, attempt);
    const isStopped = this.#stopped.has(`${runFolder}/${job}`);
    const end = await readAttemptExit(folder, { code, signal: null });
    await note(runFolder, clock, { kind: 'attempt-ended', job, attempt, ...end });
    const outcome = isStopped ? 'stopped' : end.outcome;
    if (code === kinds.evicted.exit && !isStopped) await this.#run(runFolder, order, job, attempt + 1);
    else await note(runFolder, clock, { kind: 'job-ended', job, outcome });
  }

  async #attempt(runFolder: string, order: string, job: string, attempt: number): Promise<number> {
    const { env, self } = this.#start;
    const [program = '', ...words] = await agentCommand(env, self);
    const scratch = await mkdtemp(path.join(env['UPDRAFT_SCRATCH'] ?? '/tmp', 'toy-'));
    const agent = spawn(program, [...words, 'shared', order, runFolder, String(attempt)], {
      cwd: scratch,
      env: { ...env },
      stdio: 'ignore',
    });
    this.#agents.set(`${runFolder}/${job}`, agent);
    const [code] = (await once(agent, 'close')) as [number | null];
    this.#agents.delete(`${runFolder}/${job}`);
    await rm(scratch, { recursive: true, force: true });
    return code ?? 1;
  }
}

type Body = Parameters<Awaited<ReturnType<typeof openJournal>>['append']>[0];

async function note(runFolder: string, clock: Clock, body: Body): Promise<void> {
  await using journal = await openJournal(path.join(runFolder, account), clock);
  await journal.append(body);
}
