import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { condorHarness } from './condor-harness.ts';

/** What earlier attempts measured at each place becomes HTCondor's `rank`, which a real pool computes here. */

const job = (run: string): string => `
name = "ranked"
[train]
command = "test {site} != CHTC-Spark-CE1 && sleep 1 && echo 1 > out.txt"
outputs = ["out.txt"]
[run]
pool = "condor"
attempts = 1
${run}
`;

test('a run prefers the slots where the one before it got further, and says so', async (t) => {
  const first = job(`requirements = 'TARGET.GLIDEIN_ResourceName == "{site}"'
repeat = 5
matrix.site = ["GP-ARGO-ksu-backfill", "CHTC-Spark-CE1"]`);
  const harness = await condorHarness(t, { 'updraft.toml': first });
  if (harness === undefined) return;
  const { jobs } = await harness.finish(await harness.submit());
  assert.deepEqual(
    jobs.map(({ outcome }) => outcome),
    Array.from({ length: 5 }, () => ['success', 'failed']).flat(),
  );
  const second = job(`requirements = 'TARGET.Machine == "none"'\nmatrix.site = ["any"]`);
  await writeFile(path.join(harness.folder, 'updraft.toml'), second);
  const run = await harness.submit();
  const constraint = `UpdraftRun == "${path.basename(run)}"`;
  const [rank = ''] = await harness.ask(constraint, 'unparse(Rank)');
  const printed = await harness.tool(
    'condor_status',
    '-af',
    'GLIDEIN_ResourceName',
    rank.replaceAll('TARGET.', ''),
  );
  const values = new Map(printed.split('\n').map((line) => line.split(' ') as [string, string]));
  assert.ok(Number(values.get('GP-ARGO-ksu-backfill')) > 100, printed);
  assert.ok(Number(values.get('CHTC-Spark-CE1')) < 100, printed);
  await harness.tool('condor_rm', '-constraint', constraint);
  await harness.finish(run);
});
