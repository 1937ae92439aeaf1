import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { type Clock, isGone, unlessGone } from '@updraft/base';
import { livenessOf, type ProcessIdentity, withLease } from '@updraft/base/processes';
import { makeClaim, readClaim } from '../../job/claim.ts';
import type { Resources } from '../../job/spec.ts';
import type { Machine } from './machine.ts';

/** What one attempt holds of the machine. */
export interface Share extends Machine {
  attemptFolder: string;
}

interface Held extends Share {
  /** The supervisor that took it. */
  owner: ProcessIdentity;
}

/**
 * How all runs of a user share one machine: a file per attempt in `folder`, changed only under its lease. A share
 * outlives its supervisor exactly as long as the attempt's agent.
 */
export class Shares {
  readonly #folder: string;
  readonly #machine: Machine;
  readonly #self: ProcessIdentity;
  readonly #clock: Clock;

  constructor(folder: string, machine: Machine, self: ProcessIdentity, clock: Clock) {
    this.#folder = folder;
    this.#machine = machine;
    this.#self = self;
    this.#clock = clock;
  }

  /**
   * Takes what an attempt requests, with memory capped at the machine's; undefined while other attempts hold too
   * much of the machine.
   */
  async take(attemptFolder: string, want: Resources): Promise<Share | undefined> {
    const { cpus } = want;
    const memoryBytes = Math.min(want.memoryBytes, this.#machine.memoryBytes);
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    return withLease(path.join(this.#folder, 'lease'), this.#self, this.#clock, async () => {
      const free = this.#free(await this.#alive());
      if (cpus > free.cpus || memoryBytes > free.memoryBytes || want.gpus > free.gpus.length)
        return undefined;
      const share: Share = { attemptFolder, cpus, memoryBytes, gpus: free.gpus.slice(0, want.gpus) };
      const held: Held = { ...share, owner: this.#self };
      await writeFile(this.#fileOf(attemptFolder), `${JSON.stringify(held)}\n`);
      return share;
    });
  }

  /** Releases an attempt's share, if it has one. */
  async release(attemptFolder: string): Promise<void> {
    await rm(this.#fileOf(attemptFolder), { force: true });
  }

  #free(held: Held[]): Machine {
    const taken = new Set(held.flatMap((share) => share.gpus));
    return {
      cpus: this.#machine.cpus - sum(held.map((share) => share.cpus)),
      memoryBytes: this.#machine.memoryBytes - sum(held.map((share) => share.memoryBytes)),
      gpus: this.#machine.gpus.filter((gpu) => !taken.has(gpu)),
    };
  }

  async #alive(): Promise<Held[]> {
    const alive: Held[] = [];
    for (const name of await readdir(this.#folder)) {
      if (!name.endsWith('.share')) continue;
      const file = path.join(this.#folder, name);
      const held = await readHeld(file);
      if (held !== undefined && (await isAlive(held))) alive.push(held);
      else await rm(file, { force: true });
    }
    return alive;
  }

  #fileOf(attemptFolder: string): string {
    const name = createHash('sha256').update(attemptFolder).digest('hex').slice(0, 32);
    return path.join(this.#folder, `${name}.share`);
  }
}

/** What living runs hold of this machine, by run; changes nothing. */
export async function heldByRuns(folder: string): Promise<{ run: string; cpus: number }[]> {
  const names = await readdir(folder).catch((): string[] => []);
  const held = await Promise.all(
    names.filter((name) => name.endsWith('.share')).map((name) => readHeld(path.join(folder, name))),
  );
  return held.flatMap((one) =>
    one === undefined || livenessOf(one.owner) !== 'alive'
      ? []
      : // The attempt is in a folder of its job, among the jobs of the run.
        [{ run: path.basename(path.resolve(one.attemptFolder, '../../..')), cpus: one.cpus }],
  );
}

async function readHeld(file: string): Promise<Held | undefined> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as Held;
  } catch (error) {
    // Released meanwhile, or its writer died half-way: then no agent was started for it.
    if (isGone(error) || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

async function isAlive({ owner, attemptFolder }: Held): Promise<boolean> {
  if (livenessOf(owner) === 'alive') return true;
  // This attempt has no supervisor. If its agent has not started yet it never may: it would run without a share.
  await unlessGone(makeClaim(attemptFolder, { void: 'its supervisor died before the agent started' }));
  const claim = await readClaim(attemptFolder);
  return claim !== undefined && !('void' in claim) && livenessOf(claim) === 'alive';
}

const sum = (numbers: number[]): number => numbers.reduce((total, number) => total + number, 0);
