import type { TestContext } from 'node:test';
import { findProgram } from '@updraft/base';

/** Where these programs are; if the PATH lacks one, the test is skipped with its name. */
export async function needOnPath<const Names extends readonly string[]>(
  t: TestContext,
  ...names: Names
): Promise<{ [Index in keyof Names]: string } | undefined> {
  const found = await Promise.all(names.map((name) => findProgram([name], process.env)));
  const missing = names.filter((_, index) => found[index] === undefined);
  if (missing.length === 0) return found as { [Index in keyof Names]: string };
  t.skip(`no ${missing.join(', ')} on the PATH of this machine`);
  return undefined;
}
