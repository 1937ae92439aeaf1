import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isSubmitFile } from '../submit/submit-files.ts';
import { isDag } from './is-dag.ts';

const submit = 'executable = run.sh\nrequest_memory = 4 GB\nqueue 10\n';
const dag = 'JOB A a.sub\nJOB B b.sub\nPARENT A CHILD B\n';

/** What a file is taken for. */
const kindOf = (name: string, text: string): string =>
  isDag(name, text) ? 'dag' : isSubmitFile(name, text) ? 'submit' : 'other';

test('submit files and DAGs are known by their endings, and by their content under an odd name', () => {
  for (const name of ['job.sub', 'job.submit', 'job.condor', 'job.jdl'])
    assert.equal(kindOf(name, 'universe = vanilla\n'), 'submit', name);
  assert.equal(kindOf('flow.dag', 'RETRY A 3\n'), 'dag');
  for (const name of ['submit', 'job.txt', 'mille.sub.tpl', 'p.job']) {
    assert.equal(kindOf(name, submit), 'submit', name);
    assert.equal(kindOf(name, dag), 'dag', name);
  }
  assert.equal(kindOf('submit', `#!/usr/bin/env condor_submit\n${submit}`), 'submit');
  assert.equal(kindOf('flow', `${dag}VARS A x="1"\nTYPO A\n`), 'dag');
});

test('programs and documents that quote a submit file or begin like a DAG are neither', () => {
  for (const name of ['setup.py', 'README.md', 'a/Action.cc', 'cm.yaml', 'run.sh', 'nb.ipynb', 'x.R']) {
    assert.equal(kindOf(name, submit), 'other', name);
    assert.equal(kindOf(name, dag), 'other', name);
  }
  const prose = 'These lines start ten jobs.\nSave them as job.sub.\nThen submit them:\n';
  assert.equal(kindOf('README', prose + submit), 'other');
  assert.equal(kindOf('make-jobs', `#!/bin/bash\nn=3\ncat > job.sub <<EOF\n${submit}EOF\n`), 'other');
  assert.equal(kindOf('README', 'Job submission is easy here.\nParent nodes run first.\n'), 'other');
  assert.equal(kindOf('MANIFEST.in', 'include README.md\ninclude LICENSE\n'), 'other');
});
