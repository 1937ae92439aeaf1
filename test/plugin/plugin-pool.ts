import { execFile } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  type FSWatcher,
  readFileSync,
  rmSync,
  symlinkSync,
  watch,
  writeFileSync,
} from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';
import { systemClock } from '@updraft/base';
import type { MiniFederation } from '@updraft/mini/federation';
import { sites } from '@updraft/mini/pool';
import { poolRoot, startOwnPool } from '../pool.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const run = promisify(execFile);

interface FinishedJob {
  /** Cluster and process. */
  id: string;
  ended: 'completed' | 'held' | 'aborted';
  /** The job's event log. */
  log: string;
  ad: Record<string, unknown>;
  /** File with the job's output. */
  out: string;
}

type OwnPool = Awaited<ReturnType<typeof startOwnPool>>;

/** A real HTCondor pool for jobs that bring the agent along as their plugin. */
export class PluginPool {
  /** What this machine lacks to run it, if anything. */
  readonly lacks: string | undefined;
  readonly home: string;
  readonly #pool: OwnPool | undefined;

  private constructor(home: string, pool: OwnPool | string) {
    this.home = home;
    this.lacks = typeof pool === 'string' ? pool : undefined;
    this.#pool = typeof pool === 'string' ? undefined : pool;
  }

  static async start(agent: string): Promise<PluginPool> {
    if (!existsSync(agent))
      return new PluginPool('', `${path.basename(agent)} is not built (npm run build:agent)`);
    const root = await poolRoot();
    if ('lacks' in root) return new PluginPool('', root.lacks);
    const home = await mkdtemp(path.join(os.tmpdir(), 'updraft-pool-'));
    copyFileSync(agent, path.join(home, 'updraft_plugin'));
    return new PluginPool(
      home,
      await startOwnPool({ root: root.folder, home: path.join(home, 'pool'), sites }),
    );
  }

  async stop(): Promise<void> {
    await this.#pool?.stop();
    if (this.home !== '') rmSync(this.home, { recursive: true, force: true });
  }

  /** Submits one job and waits until it has ended or is held. */
  async run(
    t: TestContext,
    federation: Pick<MiniFederation, 'discoveryHost' | 'caFile'>,
    description: Record<string, string>,
    env: Record<string, string> = {},
  ): Promise<FinishedJob> {
    const folder = await temporaryFolder(t);
    // Workers see nothing of this machine: the authority travels with the job.
    copyFileSync(federation.caFile, path.join(folder, 'ca.pem'));
    symlinkSync(path.join(this.home, 'updraft_plugin'), path.join(folder, 'updraft_plugin'));
    const { transfer_input_files: inputs, ...others } = description;
    const variables = {
      UPDRAFT_OSDF_HOST: federation.discoveryHost,
      UPDRAFT_SSL_CERT_FILE: 'ca.pem',
      UPDRAFT_STALL_SECONDS: '1',
      ...env,
    };
    const words = {
      universe: 'vanilla',
      // A path by which a worker finds it too.
      transfer_plugins: 'osdf=updraft_plugin',
      environment: `"${Object.entries(variables)
        .map((pair) => pair.join('='))
        .join(' ')}"`,
      should_transfer_files: 'YES',
      transfer_executable: 'false',
      request_memory: '128',
      request_disk: '500MB',
      log: 'log',
      output: 'out',
      error: 'err',
      transfer_input_files: inputs === undefined ? 'ca.pem' : `ca.pem, ${inputs}`,
      ...others,
    };
    const lines = Object.entries(words).map((pair) => pair.join(' = '));
    writeFileSync(path.join(folder, 'job.sub'), [...lines, 'queue', ''].join('\n'));
    writeFileSync(path.join(folder, 'log'), '');
    const submitted = await this.#tool('condor_submit', ['-terse', 'job.sub'], folder);
    const id = submitted.split(' ')[0] ?? '';
    t.after(() => this.#tool('condor_rm', ['-forcex', id], folder).catch(() => undefined));
    const ended = await untilEnded(folder);
    const log = readFileSync(path.join(folder, 'log'), 'utf8');
    return {
      id,
      ended,
      log,
      ad: ended === 'held' ? await this.#heldAd(id, folder) : {},
      out: path.join(folder, 'out'),
    };
  }

  /** What the pool's history records about the transfers of a job: what operators read. */
  async transfers(t: TestContext, { id }: FinishedJob): Promise<unknown[]> {
    const words = ['-transfer-history', '-json', id];
    const folder = await temporaryFolder(t);
    // The history follows the job's log a moment later.
    while ((await this.#tool('condor_q', [id, '-af', 'ClusterId'], folder)).trim() !== '')
      await systemClock.sleep(250);
    return JSON.parse(await this.#tool('condor_history', words, folder)) as unknown[];
  }

  async #heldAd(id: string, folder: string): Promise<Record<string, unknown>> {
    // The queue follows the job's log a moment later.
    const [cluster, proc] = id.split('.');
    const constraint = `ClusterId == ${cluster} && ProcId == ${proc} && JobStatus == 5`;
    const held = ['-constraint', constraint, '-json'];
    for (;;) {
      const ads = JSON.parse((await this.#tool('condor_q', held, folder)) || '[]') as Record<
        string,
        unknown
      >[];
      if (ads[0] !== undefined) return ads[0];
      await systemClock.sleep(250);
    }
  }

  async #tool(name: string, args: string[], cwd: string): Promise<string> {
    const { stdout } = await run(path.join(this.#pool?.state.bin ?? '', name), args, { cwd });
    return stdout;
  }
}

const endings = { '005': 'completed', '012': 'held', '009': 'aborted' } as const;

/** Reads the event log whenever it grows. */
async function untilEnded(folder: string): Promise<FinishedJob['ended']> {
  let watcher: FSWatcher | undefined;
  try {
    return await new Promise((resolve) => {
      const check = (): void => {
        const event = /^(005|012|009) /m.exec(readFileSync(path.join(folder, 'log'), 'utf8'))?.[1];
        if (event !== undefined) resolve(endings[event as keyof typeof endings]);
      };
      watcher = watch(folder, check);
      check();
    });
  } finally {
    watcher?.close();
  }
}
