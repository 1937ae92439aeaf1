import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { tried } from '@updraft/base';
import { kindOfExit } from '@updraft/account/codes';
import { Fault } from '@updraft/account/fault';
import { type FaultRecord, toFaultRecord } from '@updraft/account/journal';
import type { Attempt, Context } from '../attempt.ts';
import { describeMachine } from '../machine/machine.ts';
import type { CommandEnd, Log, RankEnv, StartedRank } from './command-end.ts';
import { DiskWatch } from './disk-watch.ts';
import { MemoryWatch } from './memory-watch.ts';
import { killProcesses } from './processes.ts';
import { ranksAt, type Shell, startRanks, waitForGroups } from './shell.ts';

/** What the agents of a job's nodes say to one another, a line of JSON each, over the input and output of srun. */
interface Said {
  /** Who says it, from 1; not the first one, which leads. */
  node?: number;
  host?: string;
  /** This node is prepared; the address at which it reaches the first one. */
  ready?: string;
  /** Ranks with these variables are to start. */
  start?: RankEnv;
  rank?: number;
  kill?: NodeJS.Signals;
  log?: 'out' | 'err';
  text?: string;
  ended?: CommandEnd;
  isDrained?: true;
  fault?: FaultRecord;
  /** By the pool's script: the agent there has ended with this exit code. */
  gone?: number;
}

/** How the pool's script connects the agents of a job's nodes. */
export interface NodeLink {
  input: Readable;
  send: (text: string) => void;
}

const say = ({ send }: NodeLink, said: Said): void => send(`${JSON.stringify(said)}\n`);

/** Returns when no one is left to hear. */
async function hear({ input }: NodeLink, take: (said: Said) => void): Promise<void> {
  const lines = createInterface(input).on('line', (line) => {
    // A node's shell may print something else.
    const said = tried(() => JSON.parse(line) as Said | null);
    if (typeof said === 'object' && said !== null) take(said);
  });
  await once(lines, 'close');
}

const killedExit = 128 + 9;
/** For the other nodes to end and clean up, of the half minute that Slurm gives. */
const closingMs = 20_000;

/** The agents on the other nodes of a job, as the one on its first node sees them. */
export class Nodes {
  readonly #link: NodeLink;
  readonly #count: number;
  readonly #cwd: string;
  readonly #trouble = new AbortController();
  readonly #ready = new Map<number, string>();
  readonly #allReady = Promise.withResolvers<unknown>();
  readonly #ends = new Map<number, PromiseWithResolvers<CommandEnd>>();
  readonly #drains = new Map<number, PromiseWithResolvers<unknown>>();
  readonly #closed: Promise<void>;
  #local = 1;
  #isOver = false;
  #log: Log = () => undefined;

  /** `count`: how many they are; `cwd`: where the pool's script reads which of them had trouble. */
  constructor(link: NodeLink, count: number, cwd: string) {
    this.#link = link;
    this.#count = count;
    this.#cwd = cwd;
    this.#closed = hear(link, (said) => this.#take(said)).then(() => {
      const isReady = this.#ready.size === count;
      const message = isReady ? 'the other nodes are lost' : 'the agent did not start on the other nodes';
      this.#blame('', { kind: isReady ? 'evicted' : 'environment-broken', message });
      for (let node = 1; node <= count; node++) this.#lose(node);
    });
  }

  /** Aborts, with a Fault, if one of them cannot go on. */
  get trouble(): AbortSignal {
    return this.#trouble.signal;
  }

  /** Returns when all are prepared: the address at which they reach this one. */
  async ready({ signal }: Context): Promise<void> {
    const stop = Promise.withResolvers<unknown>();
    signal.addEventListener('abort', () => stop.resolve(undefined), { once: true });
    if (!signal.aborted) await Promise.race([this.#allReady.promise, stop.promise]);
    signal.throwIfAborted();
  }

  get address(): string {
    return this.#ready.get(1) ?? '';
  }

  /** Starts their ranks, with the variables that all have in common. */
  start(env: RankEnv, log: Log): StartedRank[] {
    this.#log = log;
    this.#local = Number(env['LOCAL_WORLD_SIZE']);
    say(this.#link, { start: env });
    return Array.from({ length: this.#count * this.#local }, (_, at): StartedRank => {
      const rank = this.#local + at;
      const [end, drain] = [Promise.withResolvers<CommandEnd>(), Promise.withResolvers<unknown>()];
      this.#ends.set(rank, end);
      this.#drains.set(rank, drain);
      const kill = (name: NodeJS.Signals): void => say(this.#link, { rank, kill: name });
      return { rank, exit: end.promise, drained: drain.promise, kill };
    });
  }

  /** The attempt is over: returns when they have ended, too. */
  async close({ clock }: Context): Promise<void> {
    this.#isOver = true;
    say(this.#link, { gone: 0 });
    await Promise.race([this.#closed, clock.sleep(closingMs)]);
  }

  #take({ node = 0, host = '', ready, rank = 0, log, text = '', ended, isDrained, fault, gone }: Said): void {
    if (ready !== undefined) this.#ready.set(node, ready);
    if (this.#ready.size === this.#count) this.#allReady.resolve(undefined);
    if (log !== undefined) this.#log(log, text);
    if (ended !== undefined) this.#ends.get(rank)?.resolve(ended);
    if (isDrained === true) this.#drains.get(rank)?.resolve(undefined);
    if (fault !== undefined) this.#blame(host, fault);
    if (gone === undefined) return;
    // As on the first node: what is killed while its job goes on has run out of memory.
    const kind = gone === killedExit ? 'memory-exceeded' : (kindOfExit(gone) ?? 'evicted');
    this.#blame(host, { kind, message: `the agent ended with exit code ${gone}; see agent-${node}.log` });
    this.#lose(node);
  }

  #lose(node: number): void {
    for (let rank = node * this.#local; rank < (node + 1) * this.#local; rank++) {
      this.#ends.get(rank)?.resolve({ status: null, signal: 'SIGKILL' });
      this.#drains.get(rank)?.resolve(undefined);
    }
  }

  /** The first trouble counts: others follow from it. */
  #blame(host: string, { kind, message, ...more }: FaultRecord): void {
    if (this.#isOver || this.#trouble.signal.aborted) return;
    tried(() => writeFileSync(path.join(this.#cwd, 'blame'), host));
    this.#trouble.abort(new Fault(kind, host === '' ? message : `${message} (on node ${host})`, more));
  }
}

/** The agent on the first node of a job, as those on others see it. */
export class Lead {
  readonly #link: NodeLink;
  readonly #about: Required<Pick<Said, 'node' | 'host'>>;
  readonly #over = new AbortController();
  #take: (said: Said) => void = () => undefined;

  constructor(link: NodeLink, node: number, { env, signal }: Context) {
    this.#link = link;
    this.#about = { node, host: env['SLURMD_NODENAME'] ?? describeMachine(env).host };
    const end = (): void => this.#over.abort(new Fault('interrupted', 'the first node has ended'));
    void hear(link, (said) => (said.gone === undefined ? this.#take(said) : end())).then(end);
    signal.addEventListener('abort', () => this.fail(signal.reason as Fault), { once: true });
  }

  /** Aborts, with a Fault, when the first node's attempt is over. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  fail(fault: Fault): void {
    say(this.#link, { ...this.#about, fault: toFaultRecord(fault) });
  }

  /** Starts and ends ranks as the first node says, until that is over. */
  async serve(attempt: Attempt): Promise<void> {
    const ended = Promise.withResolvers<unknown>();
    this.over.addEventListener('abort', () => ended.resolve(undefined), { once: true });
    this.#take = ({ start }) => {
      if (start !== undefined) void this.#start(attempt, start);
    };
    say(this.#link, { ...this.#about, ready: attempt.context.env['SLURM_LAUNCH_NODE_IPADDR'] ?? '' });
    if (!this.over.aborted) await ended.promise;
  }

  async #start(attempt: Attempt, env: RankEnv): Promise<void> {
    const { order, scratch, context } = attempt;
    const { node } = this.#about;
    const log: Log = (name, text) => say(this.#link, { log: name, text });
    const started = await startRanks(order.job.train.command, attempt, ranksAt(node, env, scratch), log);
    const pids = started.flatMap(({ pid }) => pid ?? []);
    const [memory, disks] = [new MemoryWatch(), new DiskWatch(attempt)];
    const [late, lenient] = [new AbortController(), {} as Shell['lenient']];
    this.#take = ({ start, rank, kill }) => {
      if (start !== undefined) void this.#start(attempt, start);
      if (kill === undefined) return;
      if (kill === 'SIGKILL') late.abort();
      else lenient.until = late.signal;
      started.find((one) => one.rank === rank)?.kill(kill);
    };
    const all = started.map(async ({ rank, exit, drained }) => {
      const end = await exit;
      await waitForGroups(lenient, scratch.root, pids, context);
      const readings = { memory: memory.readings(), disks: disks.readings() };
      say(this.#link, { rank, ended: end.status === 0 ? end : { ...end, readings } });
      await drained;
      say(this.#link, { rank, isDrained: true });
    });
    const over = new AbortController();
    void Promise.all(all).then(() => over.abort());
    while (!over.signal.aborted) {
      memory.poll(...pids);
      disks.poll();
      await context.clock.sleep(pollMs, over.signal).catch(() => undefined);
    }
    killProcesses(scratch.root, context, ...pids);
  }
}

const pollMs = 500;
