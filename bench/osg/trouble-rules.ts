import type { CacheDeed, JobWorld } from './world.ts';

interface Scaled {
  /** Of the object that every job fetches. */
  bytes: number;
  /** Seconds of the table for one of the replay. */
  scale: number;
}

/** What the federation does to the job of this number, in its own language of trouble. */
export function troubleRules(job: JobWorld, number: number, { bytes, scale }: Scaled): string[] {
  const from = `from *.${number}#*`;
  const rate = (bytes * scale) / job.transferSeconds;
  const after = (seconds: number): number =>
    Math.max(4096, Math.round((bytes * seconds) / job.transferSeconds));
  // One limit for all servers: it is the job's own way to the network that it stands for.
  const rules = [`all: limit ${Math.round(rate)}B/s ${from}`];
  if (job.missingSeconds > 0) {
    const lasting = `lasting ${Math.round((1000 * job.missingSeconds) / scale)}ms`;
    rules.push(`caches: 404 ${from} ${lasting}`, `origin: 404 ${from} ${lasting}`);
  }
  const deeds = deedRules(job.deeds, after).map((rule) => `${rule} ${from}`);
  rules.push(...deeds.map((rule) => `cache-1: ${rule}`));
  if (job.corrupted) {
    rules.push(`cache-1: corrupt at 0 length 1KiB skip ${Math.max(1, job.deeds.length)} first 1 ${from}`);
    // Whoever does not wait for the first cache gets the damaged delivery from the second.
    rules.push(`cache-2: corrupt at 0 length 1KiB first 1 ${from}`);
  } else if (job.secondCacheToo) rules.push(...deeds.map((rule) => `cache-2: ${rule}`));
  return rules;
}

/**
 * Deeds in a row become one rule. A rule lets pass the requests to which something else happens: for stalls those are
 * all others before it; resets are not asked about while there is a stall.
 */
function deedRules(deeds: readonly CacheDeed[], after: (seconds: number) => number): string[] {
  const rules: { kind: string; after: number; skip: number; first: number }[] = [];
  const passed = { stall: 0, reset: 0 };
  let open: (typeof rules)[number] | undefined;
  for (const deed of deeds) {
    if (deed.kind === open?.kind) {
      open.first += 1;
      if (deed.kind === 'reset') passed.stall += 1;
      continue;
    }
    open =
      deed.kind === 'serve'
        ? undefined
        : { kind: deed.kind, after: after(deed.afterSeconds), skip: passed[deed.kind], first: 1 };
    if (open !== undefined) rules.push(open);
    if (deed.kind !== 'stall') passed.stall += 1;
    if (deed.kind === 'serve') passed.reset += 1;
  }
  return rules.map(({ kind, skip, first, ...rule }) => {
    const skipped = skip === 0 ? '' : ` skip ${skip}`;
    return `${kind} after ${rule.after}${skipped} first ${first}`;
  });
}
