import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { readDag } from '@updraft/htcondor/dag';
import { temporaryFolder } from '../temporary-folder.ts';
import { realCondorSubmit } from './condor-submit.ts';

const splices = {
  'plain.spl': 'JOB K s.sub',
  'pin-all.spl': 'JOB P s.sub\nPIN_IN ALL_NODES 1\nPIN_OUT P 1',
};

const forAll = [
  ...['RETRY ALL_NODES 3', 'VARS ALL_NODES a="1"', 'PRIORITY ALL_NODES 1', 'CATEGORY ALL_NODES c'],
  ...[
    'SCRIPT PRE ALL_NODES /bin/true',
    'ABORT-DAG-ON ALL_NODES 1',
    'PRE_SKIP ALL_NODES 1',
    'TOLERANCE ALL_NODES 1',
  ],
];
const cases: Record<string, { refused: string[]; taken: string[] }> = {
  ALL_NODES: {
    refused: [
      ...forAll.map((line) => `SPLICE X plain.spl\n${line}`),
      'FINAL F s.sub\nRETRY ALL_NODES 3',
      'JOB A s.sub\nDONE ALL_NODES',
      'SPLICE X pin-all.spl',
    ],
    taken: [['JOB A s.sub', 'SPLICE X plain.spl', ...forAll].join('\n')],
  },
};

for (const [what, { refused, taken }] of Object.entries(cases))
  test(`${what} is refused where DAGMan refuses it`, async (t) => {
    const folder = await temporaryFolder(t);
    const condor = await realCondorSubmit(t);
    if (condor === undefined) return;
    await writeFile(path.join(folder, 's.sub'), 'executable = /bin/true\nlog = s.log\nqueue\n');
    for (const [name, text] of Object.entries(splices)) await writeFile(path.join(folder, name), text);
    for (const [index, text] of [...refused, ...taken].entries()) {
      const name = `${index}.dag`;
      await writeFile(path.join(folder, name), `${text}\n`);
      const theirs = condor.refusal(folder, name);
      const dag = readDag(name, text, (file) => readFileSync(path.join(folder, file), 'utf8'));
      const ours = dag.problems.map(({ message }) => message);
      assert.equal(theirs !== undefined, refused.includes(text), `DAGMan: ${theirs ?? 'accepted'}: ${text}`);
      assert.equal(ours.length > 0, theirs !== undefined, `${ours.join('; ')}: ${text}`);
    }
  });
