import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Finding } from '@updraft/base';
import { documentText } from '@updraft/view/document';
import type { CheckReport } from '../../preflight/gathered.ts';
import { checkPage, countFindings } from './findings-page.ts';

const finding = (more: Partial<Finding>): Finding => ({
  rule: 'tool-missing',
  level: 'error',
  message: '`wget` is not there',
  fix: 'add it',
  file: 'run.sh',
  line: 2,
  ...more,
});
const checkText = (title: string, report: CheckReport, width: number): string =>
  documentText(checkPage(title, report), width);

const report = (findings: Finding[], columns = 80): string =>
  checkText('x: 1 job', { findings, looked: [], unchecked: [] }, columns);

test('findings of one rule with one fix are grouped, the worst first', () => {
  const text = report([
    finding({}),
    finding({ line: 11, message: '`unzip` is not there' }),
    finding({ rule: 'project', level: 'warning', message: 'no project', fix: 'name one' }),
  ]);
  assert.equal(
    text,
    `x: 1 job

errors: jobs would fail
  tool-missing
      run.sh:2   \`wget\` is not there
      run.sh:11  \`unzip\` is not there
      fix: add it

warnings: jobs may fail, or cost more than they need
  run.sh:2  project
      no project
      fix: name one
`,
  );
});

test('long sentences wrap, and control characters are removed', () => {
  const text = report([finding({ message: `${'word '.repeat(40)}\u001b[31m` })], 70);
  assert.ok(text.split('\n').every((line) => line.length <= 70));
  assert.doesNotMatch(text, /\u001b/);
});

test('what could not be checked is reported with the reason', () => {
  const unchecked = [{ what: 'data.d', why: 'no answer in time' }];
  const text = checkText('ok', { findings: [], looked: [{ what: 'pool', said: '3 of 3' }], unchecked }, 80);
  assert.equal(text, 'ok\n\nchecked\n  pool  3 of 3\ncould not be checked\n  data.d: no answer in time\n');
});

test('findings are counted by level', () => {
  assert.equal(countFindings([finding({}), finding({}), finding({ level: 'note' })]), '2 errors, 1 note');
  assert.equal(countFindings([]), '');
});

test('a thousand data sets take a few lines', () => {
  const looked = Array.from({ length: 1000 }, (_, index) => ({ what: `data.d${index}`, said: '1 GB' }));
  const unchecked = looked.map(({ what }) => ({ what, why: 'no answer in time' }));
  const text = checkText('x', { findings: [], looked, unchecked }, 80);
  assert.match(text, /\n {2}and 988 more \(--json has all\)\n/);
  assert.ok(text.split('\n').length < 25, text);
});
