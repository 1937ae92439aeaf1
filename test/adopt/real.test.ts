import assert from 'node:assert/strict';
import { chmod, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  diskFiles,
  parseSubmit,
  splitArguments,
  splitEnvironment,
  type SubmittedJob,
} from '@updraft/htcondor/submit';
import { splitRaw } from '@updraft/htcondor/testing';
import { temporaryFolder } from '../temporary-folder.ts';
import { realCondorSubmit } from './condor-submit.ts';
import { descriptions } from './descriptions.ts';

const files = {
  'a.sh': '#!/bin/sh\nexit 0\n',
  'in/one.dat': '1',
  'in/two.dat': '2',
  'in/list.txt': '1, 2\n3 4 5\n',
  'in/blank.txt': '# first\n\na 1\n \t\r\nb\r\n,\n\n',
  'in/blank.csv': 'a,b\n\n1,2\n  \n3,4\n\n',
  'in/continued.txt': 'a \\\n  b\nc\n',
  'in/table.csv': 'a, b\n1, x y\n  2,\n',
  'in/more.inc': 'arguments = included $(Process)\n',
};

/** A string of an ad as `-dry-run` prints it: only quotes are escaped. */
const textOf = (value: string | undefined): string | undefined =>
  value?.replace(/^"(.*)"$/s, '$1').replaceAll(String.raw`\"`, '"');

/** What both sides must agree on for one job. */
function ours({ commands, attributes }: SubmittedJob, folder: string): Record<string, unknown> {
  const home = path.resolve(folder, commands['initialdir'] ?? '.');
  const place = (name: string | undefined): string | undefined =>
    name === undefined ? undefined : path.resolve(home, name);
  return {
    arguments: splitArguments(commands['arguments'] ?? ''),
    environment: splitEnvironment(commands['environment'] ?? '').sort(),
    inputs: (commands['transfer_input_files'] ?? '').split(/,\s*/),
    log: place(commands['log']),
    output: place(commands['output']),
    error: place(commands['error']),
    attributes: Object.fromEntries(
      Object.entries(attributes).flatMap(([name, value]) =>
        value === '' ? [] : [[name.toLowerCase(), value.replaceAll(' ', '')]],
      ),
    ),
  };
}

function theirs(ad: Record<string, string>, expected: Record<string, unknown>): Record<string, unknown> {
  const home = textOf(ad['iwd']) ?? '/';
  const place = (name: string | undefined): string | undefined => {
    const text = textOf(name);
    return text === undefined || text === '/dev/null' ? undefined : path.resolve(home, text);
  };
  const old = (value: string | undefined, separator: RegExp): string[] =>
    (textOf(value) ?? '').split(separator).filter((word) => word !== '');
  const attributes = Object.keys(expected['attributes'] as object).map((name) => [
    name,
    ad[name]?.replaceAll(' ', ''),
  ]);
  return {
    arguments:
      ad['arguments'] === undefined ? old(ad['args'], /\s+/) : splitRaw(textOf(ad['arguments']) ?? ''),
    environment: (ad['environment'] === undefined
      ? old(ad['env'], /;/)
      : splitRaw(textOf(ad['environment']) ?? '')
    ).sort(),
    inputs: (textOf(ad['transferinput']) ?? '').split(/,\s*/),
    log: place(ad['userlog']),
    output: place(ad['out']),
    error: place(ad['err']),
    attributes: Object.fromEntries(attributes),
  };
}

for (const [name, text] of Object.entries(descriptions))
  test(`${name}: read as HTCondor reads it`, async (t) => {
    const condor = await realCondorSubmit(t);
    if (condor === undefined) return;
    const folder = await temporaryFolder(t, files);
    await chmod(path.join(folder, 'a.sh'), 0o755);
    const description = `executable = a.sh\nshould_transfer_files = YES\n${text}\n`;
    await writeFile(path.join(folder, 'job.sub'), description);
    const { ads, said } = condor.dryRun(folder, 'job.sub');
    assert.notEqual(ads.length, 0, said);
    const submission = parseSubmit(description, {
      file: 'job.sub',
      cwd: folder,
      env: { HOME: '/home/tester' },
      files: diskFiles(folder),
    });
    const jobs = submission.queues.flatMap((queue) => queue.jobs);
    assert.deepEqual(
      submission.problems.filter(({ kind }) => kind === 'syntax'),
      [],
    );
    const expected = jobs.map((job) => ours(job, folder));
    assert.deepEqual(
      expected,
      ads.map((ad, index) => theirs(ad, expected[index] ?? { attributes: {} })),
    );
  });

test('HTCondor also refuses what the reader refuses to split or read', async (t) => {
  const condor = await realCondorSubmit(t);
  if (condor === undefined) return;
  const folder = await temporaryFolder(t, files);
  await chmod(path.join(folder, 'a.sh'), 0o755);
  const refused = [
    'arguments = "open\nqueue',
    'arguments = "a "b" c"\nqueue',
    'arguments = "it\'s"\nqueue',
    'arguments = say "hi"\nqueue',
    'if a == b\nendif\nqueue',
    'else\nqueue',
    'queue many',
    'queue -1',
    'queue a from (\n1',
    'nonsense\nqueue',
    'include : gone\nqueue',
    'a.b-c = 1\nqueue',
  ];
  for (const text of refused) {
    const description = `executable = a.sh\n${text}\n`;
    await writeFile(path.join(folder, 'job.sub'), description);
    assert.match(condor.dryRun(folder, 'job.sub').said, /ERROR/, text);
    const { problems, queues } = parseSubmit(description, { file: 'job.sub', files: diskFiles(folder) });
    const isRead = !problems.some(({ kind }) => kind === 'syntax');
    if (isRead) assert.throws(() => splitArguments(queues[0]?.jobs[0]?.commands['arguments'] ?? ''), text);
  }
});

test('arguments of any content are split as HTCondor splits them', async (t) => {
  const condor = await realCondorSubmit(t);
  if (condor === undefined) return;
  const folder = await temporaryFolder(t, files);
  await chmod(path.join(folder, 'a.sh'), 0o755);
  const word = fc.string({
    unit: fc.constantFrom('a', 'b', ' ', "'", '"', '\\', '$', ';', '=', '%', '#'),
    maxLength: 8,
  });
  const lists = fc.sample(fc.array(word, { maxLength: 5 }), { numRuns: 60, seed: 7 });
  const values = lists.map(
    (words) =>
      `"${words
        .map((one) => `'${one.replaceAll("'", "''")}'`)
        .join(' ')
        .replaceAll('"', '""')}"`,
  );
  const statements = values.map((value) => `arguments = ${value}\nqueue\n`);
  await writeFile(path.join(folder, 'job.sub'), `executable = a.sh\n${statements.join('')}`);
  const { ads, said } = condor.dryRun(folder, 'job.sub');
  assert.equal(ads.length, values.length, said);
  const literal = (text: string): string =>
    `"${text.replaceAll('\\', '\\\\').replaceAll('"', String.raw`\"`)}"`;
  const split = condor
    .evaluate(ads.map((ad) => `argsToList(${literal(textOf(ad['arguments']) ?? '')})`))
    .map((list) =>
      [...list.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, text = '']) => text.replaceAll(/\\(.)/g, '$1')),
    );
  assert.deepEqual(
    values.map((value) => splitArguments(value)),
    split,
  );
});
