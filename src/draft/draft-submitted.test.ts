import assert from 'node:assert/strict';
import { test } from 'node:test';
import { survey } from '@updraft/htcondor/testing';
import { limitsAt } from '../pool/htcondor.ts';
import type { JobDraft } from './draft-job.ts';
import { draftSubmitted } from './draft-submitted.ts';

const limits = await limitsAt('ospool');

/** The draft of a submit file with these lines, beside a script. */
function drafted(script: string, ...lines: string[]): JobDraft {
  const files = {
    read: (name: string) => (name === 'run.sh' ? script : undefined),
    stat: (name: string) => ({
      kind: name === 'run.sh' ? ('file' as const) : ('missing' as const),
      bytes: 9,
    }),
    list: () => undefined,
  };
  const text = ['executable = run.sh', ...lines, 'queue', ''].join('\n');
  const facts = survey({
    file: 'job.sub',
    text,
    files,
    env: {},
    now: new Date(0),
    limits,
  });
  const draft = draftSubmitted('job.sub', facts);
  assert.ok(draft !== undefined);
  return draft;
}

test('the folder of the checkpoints is carried over, and each of their files is named', () => {
  const of = (names: string): [string | undefined, string[]] => {
    const { checkpoint, hints } = drafted('#!/bin/sh\n', `transfer_checkpoint_files = ${names}`);
    return [checkpoint, hints.filter((hint) => hint.startsWith('transfer_checkpoint_files'))];
  };
  const lost = (names: string): string =>
    `transfer_checkpoint_files: ${names}: Updraft keeps one folder across attempts: let the training save there, and name it in \`checkpoint\``;
  assert.deepEqual(of('c1, c2'), [undefined, [lost('c1, c2')]]);
  assert.deepEqual(of('checkpoint'), [undefined, [lost('checkpoint')]]);
  assert.deepEqual(of('state.pt, out/checkpoints, more/'), ['out/checkpoints', [lost('state.pt, more/')]]);
  assert.deepEqual(of('./saved/'), ['saved', []]);
});

test('a submit file that sends its whole folder is asked what the job needs', () => {
  for (const name of ['.', './'])
    assert.deepEqual(
      drafted('', `transfer_input_files = ${name}`).open.filter(([what]) => what === 'files'),
      [['files', `\`${name}\` is the whole folder: name what the job needs of it`]],
    );
});

test('a run is named after its batch without its secrets, or after the file', () => {
  const token = ['ghp', 'planted0123456789planted0123'].join('_');
  assert.equal(drafted('', `batch_name = night ${token}`).name, 'night');
  assert.equal(drafted('', `batch_name = ${token}`).name, 'job');
});
