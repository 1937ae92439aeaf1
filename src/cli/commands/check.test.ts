import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { runCommand } from '../../../test/cli/run-command.ts';
import { cliMain } from '../../../test/programs.ts';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import type { SpecProblem } from '../../job/source-file.ts';
import * as check from './check.ts';
import * as plan from './plan.ts';

const good = 'name = "x"\n[train]\ncommand = "cat t.txt > m"\noutputs = ["m"]\nfiles = ["t.txt"]\n';

test('a good file is ok, with a summary and the next commands', async (t) => {
  const cwd = await temporaryFolder(t, { 'job/updraft.toml': good, 'job/t.txt': '1234' });
  const { out, err } = await runCommand(check, ['job'], { cwd });
  assert.equal(
    out,
    'ok: x: 1 job on the pool "local"; 1 file (4 B), 0 data sets\n\nchecked\n  this machine  1 command found\n',
  );
  assert.match(err, /next:\n {2}updraft plan job {2}/);
});

test('in a folder below, the job file above is meant, and said', async (t) => {
  const cwd = await temporaryFolder(t, { 'updraft.toml': good, 't.txt': '', 'deep/er/x': '' });
  const { out, err } = await runCommand(check, [], { cwd: path.join(cwd, 'deep/er') });
  assert.match(out, /^ok: x: /);
  assert.ok(err.startsWith(`this folder has no job file; ${cwd}/updraft.toml is meant\n`), err);
  assert.match(err, /updraft run \.\.\/\.\. /);
  const planned = await runCommand(plan, [], { cwd: path.join(cwd, 'deep') });
  assert.match(planned.err, /updraft\.toml is meant\n/);
});

test('with --json a good file is one object', async (t) => {
  const cwd = await temporaryFolder(t, { 'updraft.toml': good, 't.txt': '' });
  const { out, err } = await runCommand(check, ['--json'], { cwd });
  const answer = JSON.parse(out) as Record<string, unknown>;
  assert.deepEqual([answer['ok'], answer['name'], answer['jobs'], answer['pool']], [true, 'x', 1, 'local']);
  assert.equal(err, '');
});

test('a folder that the command goes to first, and that is here but not sent', async (t) => {
  const go = (files: string): string =>
    `name = "x"\n[train]\ncommand = "cd sub && cp a m"\noutputs = ["sub/m"]\nfiles = [${files}]\n`;
  const cwd = await temporaryFolder(t, { 'updraft.toml': go('"t.txt"'), 't.txt': '', 'sub/a': '' });
  const said = program(cwd, 'check').stdout;
  assert.match(said, /sub is here, but not in train\.files[^]*files = \["t\.txt", "sub"\]/);
  await writeFile(path.join(cwd, 'updraft.toml'), go('"sub"'));
  assert.doesNotMatch(program(cwd, 'check').stdout, /file-not-sent/);
});

test('a command missing on this machine is reported at its line, with exit code 3', async (t) => {
  const cwd = await temporaryFolder(t, {
    'updraft.toml': good.replace('cat', 'no-such-program'),
    't.txt': '',
  });
  const { status, stdout, stderr } = program(cwd, 'check');
  assert.equal(status, 3);
  assert.match(stdout, /^errors: jobs would fail\n {2}updraft\.toml:3 {2}tool-missing\n/m);
  assert.match(
    stderr,
    /^updraft: .*updraft\.toml: 1 error\n {2}fix: apply the fix above, then run: updraft check\n$/,
  );
});

test('a declared module that no Python has is reported at its line', async (t) => {
  const text = `${good}[environment]\npython = ["no_such_module.part"]\n`;
  const cwd = await temporaryFolder(t, { 'updraft.toml': text, 't.txt': '' });
  const { status, stdout } = program(cwd, 'check');
  assert.equal(status, 3);
  assert.match(stdout, /updraft\.toml:7 {2}module-missing\n/);
});

test('submit does not look for programs, but refuses what cannot work, unless --no-check is given', async (t) => {
  const data = `[data.d]\nurl = "file:///etc/passwd"\ninto = "d"\n[resources]\ndisk = "1 B"\n`;
  const cwd = await temporaryFolder(t, { 'updraft.toml': good + data, 't.txt': '' });
  const { status, stderr } = program(cwd, 'submit');
  assert.equal(status, 3);
  assert.match(stderr, /disk-too-small[\s\S]*1 error; nothing was queued/);
  assert.deepEqual((await readdir(cwd)).sort(), ['t.txt', 'updraft.toml']);
});

/** The real program, as a shell would start it. */
function program(cwd: string, ...args: string[]) {
  return spawnSync(process.execPath, [cliMain, ...args], { cwd, encoding: 'utf8' });
}

test('a bad file gives exit code 3 and every problem on stderr, nothing on stdout', async (t) => {
  const cwd = await temporaryFolder(t, { 'updraft.toml': `${good}foo = 1\n[run]\njobs = 0\n` });
  const { status, stdout, stderr } = program(cwd, 'check');
  assert.equal(status, 3);
  assert.equal(stdout, '');
  assert.match(stderr, /^updraft: 2 problems in updraft\.toml\n/);
  assert.match(stderr, /^updraft\.toml:6:1: train\.foo: /m);
  assert.match(stderr, /^updraft\.toml:8:8: run\.jobs: /m);
  assert.match(stderr, /fix: edit these lines, then run: updraft check updraft\.toml/);
});

test('with --json every problem of a bad file is an object with its place', async (t) => {
  const cwd = await temporaryFolder(t, {
    'updraft.yaml': 'name: x\ntrain: { command: a, outputs: [b], foo: 1 }\n',
  });
  const { status, stdout } = program(cwd, 'check', '--json');
  assert.equal(status, 3);
  const { error } = JSON.parse(stdout) as { error: { kind: string; exit: number; problems: SpecProblem[] } };
  assert.deepEqual([error.kind, error.exit], ['file-invalid', 3]);
  const [problem] = error.problems;
  assert.deepEqual(
    [problem?.file, problem?.line, problem?.column, problem?.key],
    ['updraft.yaml', 2, 36, 'train.foo'],
  );
});
