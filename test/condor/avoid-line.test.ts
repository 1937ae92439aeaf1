import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { logSources } from '@updraft/htcondor/eventlog';
import { readLogs } from '@updraft/account/report';
import { avoidLine } from '@updraft/account/testing';
import { testPool } from '../pool.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { hangMs } from '../hang-limit.ts';

const bad = { site: 'CHTC-Spark-CE1', machine: 'spark-a001.chtc.example' };
const good = 'PDX-Coeus-CE1';

// With the two sites as alternatives, a line joined without parentheses would allow the bad one.
const before = `requirements = GLIDEIN_ResourceName == "${good}" || GLIDEIN_ResourceName == "${bad.site}"`;

for (const line of [avoidLine('site', bad.site, 'log') ?? '', avoidLine('machine', bad.machine, 'log') ?? ''])
  test(`jobs submitted with ${line} run elsewhere, and their own requirements still apply`, async (t) => {
    const pool = await testPool(t);
    if (pool === undefined) return;
    const folder = await temporaryFolder(t);
    const tool = (name: string, ...args: string[]) =>
      promisify(execFile)(path.join(pool.bin, name), args, { cwd: folder });
    const log = path.join(folder, 'job.log');
    const lines = ['executable = /bin/true', 'transfer_executable = false', `log = ${log}`];
    const asked = ['ulog_execute_attrs = GLIDEIN_ResourceName', before, line, 'queue 3', ''];
    await writeFile(path.join(folder, 'job.sub'), [...lines, ...asked].join('\n'));
    const { stdout } = await tool('condor_submit', '-terse', 'job.sub');
    t.after(() => tool('condor_rm', stdout.split('.')[0] ?? '').catch(() => undefined));
    await tool('condor_wait', '-wait', String(hangMs / 1000), log);
    const { report } = await readLogs(await logSources([log]));
    assert.deepEqual(
      report.sites.map(({ name, attempts }) => [name, attempts]),
      [[good, 3]],
    );
  });

test('the line also works in a file without requirements', async (t) => {
  const pool = await testPool(t);
  if (pool === undefined) return;
  const folder = await temporaryFolder(t);
  const text = `executable = /bin/true\n${avoidLine('site', bad.site, 'log')}\nqueue\n`;
  await writeFile(path.join(folder, 'job.sub'), text);
  const submit = path.join(pool.bin, 'condor_submit');
  const { stdout } = await promisify(execFile)(submit, ['job.sub', '-dry-run', '-'], { cwd: folder });
  assert.match(
    stdout,
    /^Requirements=\(\(true\) && \(GLIDEIN_ResourceName =!= "CHTC-Spark-CE1"\) && \(GLIDEIN_Site =!= "CHTC-Spark-CE1"\)\) && /m,
  );
});
