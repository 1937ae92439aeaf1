import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Before } from './outputs.ts';
import { scratchAt, type Scratch } from '../scratch.ts';

/** What an attempt that pauses leaves in its place, so that the agent that is started there next goes on with it. */
export interface Paused {
  attempt: number;
  scratch: Scratch;
  before: Before;
  /** The version of the code that runs. */
  code: string;
}

const markFile = '.updraft-paused.json';

export function leaveMark(folder: string, { attempt, scratch, before, code }: Paused): void {
  const states = [...before.states].map(([name, state]) => [name, state ?? null]);
  const mark = { attempt, code, root: scratch.root, startedNs: String(before.startedNs), states };
  writeFileSync(path.join(folder, markFile), `${JSON.stringify(mark)}\n`);
}

/** The attempt that paused here, if it is this one; it can be taken up once. */
export function takeMark(folder: string, attempt: number): Paused | undefined {
  const file = path.join(folder, markFile);
  if (!existsSync(file)) return undefined;
  const mark = JSON.parse(readFileSync(file, 'utf8')) as {
    attempt: number;
    code: string;
    root: string;
    startedNs: string;
    states: [string, string | null][];
  };
  rmSync(file);
  if (mark.attempt !== attempt || !existsSync(mark.root)) return undefined;
  const states = new Map(mark.states.map(([name, state]) => [name, state ?? undefined]));
  const before = { startedNs: BigInt(mark.startedNs), states };
  return { attempt, code: mark.code, scratch: scratchAt(mark.root), before };
}
