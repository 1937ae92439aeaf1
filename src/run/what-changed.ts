import { stableJson } from '../base/stable-json.ts';
import type { Plan } from '../job/plan.ts';

/** The parts of the job file and the files that differ between two plans, for a sentence. */
export function whatChanged(before: Plan, after: Plan): string[] {
  const sections = ['train', 'data', 'environment', 'resources', 'run'] as const;
  const changed: string[] = sections
    .filter((section) => stableJson(before.spec[section]) !== stableJson(after.spec[section]))
    .map((section) => `[${section}]`);
  const hashes = new Map(before.files.map(({ path, sha256 }) => [path, sha256]));
  for (const { path, sha256 } of after.files) {
    if (hashes.get(path) !== sha256) changed.push(path);
    hashes.delete(path);
  }
  return [...changed, ...hashes.keys()];
}
