import { measure, type Cost } from './measure.ts';

/** One implementation to measure. */
export interface Variant {
  name: string;
  command: string[];
  env?: NodeJS.ProcessEnv;
}

interface Course {
  rounds: number;
  /** A run that takes longer is killed and counts as this long. */
  limitSeconds?: number;
  /** Before each run, not measured: removes what the previous one left. */
  prepare: () => Promise<void> | void;
  /** After each run, not measured: throws if the bytes are wrong. */
  prove: (variant: Variant) => Promise<void> | void;
}

/** Runs each variant once per round, in shuffled order, so that changes of the machine's load affect all alike. */
export async function interleave(variants: Variant[], course: Course): Promise<Map<string, Cost[]>> {
  const costs = new Map<string, Cost[]>(variants.map(({ name }) => [name, []]));
  for (let round = 0; round < course.rounds; round++)
    for (const variant of shuffled(variants)) {
      await course.prepare();
      const { limitSeconds = Infinity } = course;
      const cost = await measure(variant.command, {
        ...(variant.env !== undefined && { env: variant.env }),
        ...(limitSeconds < Infinity && { limitSeconds }),
      });
      if (cost.succeeded) await course.prove(variant);
      else if (cost.wall < limitSeconds) throw new Error(`${variant.name} failed:\n${cost.output}`);
      costs.get(variant.name)?.push(cost);
      process.stderr.write(`${variant.name}: ${cost.wall.toFixed(2)} s, ${cost.cpu.toFixed(2)} s CPU\n`);
    }
  await course.prepare();
  return costs;
}

export function shuffled<T>(list: T[]): T[] {
  const rest = [...list];
  const order: T[] = [];
  while (rest.length > 0) order.push(...rest.splice(Math.floor(Math.random() * rest.length), 1));
  return order;
}

export function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  const [low = NaN, high = NaN] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]];
  return (low + high) / 2;
}
