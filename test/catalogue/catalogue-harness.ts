import assert from 'node:assert/strict';
import path from 'node:path';
import type { TestContext } from 'node:test';
import type { Env, Finding } from '@updraft/base';
import type { JobState } from '@updraft/account/journal';
import type { Explanation } from '@updraft/account/why';
import { condorHarness, type CondorHarness } from '../condor/condor-harness.ts';
import { ObjectHarness } from '../objects/object-harness.ts';

interface Checked {
  exit: number;
  findings: Finding[];
}

/** A user at the access point of a real pool, with a federation that has trouble on demand. */
export interface CatalogueHarness extends CondorHarness {
  objects: ObjectHarness;
  /** The output of `updraft check` on the job file. */
  check(...words: string[]): Promise<Checked>;
  /** The output of `updraft why` on the first job of a run. */
  why(run: string): Promise<Explanation>;
  /** The same for the only job of an HTCondor event log. */
  whyLog(log: string): Promise<Explanation>;
}

/** Here a second without a byte is a stall for most jobs; the default is twenty. */
const shortTimeouts: Env = { UPDRAFT_STALL_SECONDS: '1' };

/**
 * `prepare` publishes what the jobs need, and returns the project's files. Undefined, and the test skipped, if there is
 * no pool or no agent.
 */
export async function catalogueHarness(
  t: TestContext,
  prepare: (objects: ObjectHarness) => Record<string, string> | Promise<Record<string, string>>,
  timeouts: Env = shortTimeouts,
): Promise<CatalogueHarness | undefined> {
  const objects = await ObjectHarness.open(t);
  const harness = await condorHarness(t, await prepare(objects), { env: { ...objects.env, ...timeouts } });
  if (harness === undefined) return undefined;
  const updraft = (words: string[]) => objects.updraft(words, { cwd: harness.folder, env: harness.env });
  const why = async (...words: string[]): Promise<Explanation> => {
    const { exit, out, err } = await updraft(['why', ...words, '--json']);
    assert.equal(exit, 0, err);
    const [job] = (JSON.parse(out) as { jobs: Explanation[] }).jobs;
    assert.ok(job !== undefined, out);
    return job;
  };
  return {
    ...harness,
    objects,
    async check(...words) {
      const { exit, out, err } = await updraft(['check', ...words, '--json']);
      const [first = ''] = out.split('\n');
      assert.match(first, /^\{"ok"/, err);
      return { ...(JSON.parse(first) as Checked), exit };
    },
    why: (run) => why(run, '0'),
    whyLog: (log) => why(log),
  };
}

/** A job file for the real pool; `train` is added to [train], `tables` follows it. */
export const jobFile = (command: string, { train = '', tables = '', run = '' } = {}): string =>
  `name = "catalogue"
[train]
command = '''${command}'''
outputs = ["out"]
${train}
${tables}
[resources]
memory = "300 MB"
disk = "300 MB"
[run]
pool = "condor"
${run}
`;

/** A file that a job streams from the federation. */
export const demoData = (name = 'x.bin', more = ''): string =>
  `[data.d]\nurl = "osdf:///demo/${name}"\nmethod = "stream"\nunpack = "none"\n${more}\n`;

export const rulesOf = ({ findings }: Checked, level = 'error'): string[] =>
  findings.filter((finding) => finding.level === level).map(({ rule }) => rule);

/** How each attempt at a job ended, for assertion messages. */
export const endsOf = ({ outcome, attempts }: JobState): string =>
  JSON.stringify([outcome, ...attempts.map((one) => [one.ending, one.exit, one.site, one.fault])]);

export const constraint = (run: string): [string, string] => [
  '-constraint',
  `UpdraftRun == "${path.basename(run)}"`,
];
