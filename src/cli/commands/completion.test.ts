import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { runCommand } from '../../../test/cli/run-command.ts';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import * as completion from './completion.ts';

const scriptFor = async (shell: string): Promise<string> =>
  (await runCommand(completion, [shell], { cwd: '/' })).out;

/** What bash offers after these words. */
const offered = async (...words: string[]): Promise<string[]> => await offeredIn('/', ...words);

async function offeredIn(cwd: string, ...words: string[]): Promise<string[]> {
  const line = ['updraft', ...words];
  const ask = `${await scriptFor('bash')}
COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 )); _updraft; printf '%s\\n' "\${COMPREPLY[@]}"`;
  return execFileSync('bash', ['--norc', '-c', ask, 'bash', ...line], { encoding: 'utf8', cwd })
    .trim()
    .split('\n');
}

test('bash completes commands, their subcommands and their options', async () => {
  assert.deepEqual(await offered('st'), ['status', 'stop', 'stat', 'stage']);
  assert.deepEqual(await offered('mini', ''), ['federation', 'pool']);
  assert.deepEqual(await offered('mini', 'pool', 'd'), ['down']);
  assert.deepEqual(await offered('report', '--h'), ['--html', '--help']);
  assert.ok(!(await offered('')).includes('_supervise'));
});

test('where a file or a run is expected bash offers nothing, so that it completes files', async () => {
  assert.deepEqual(await offered('report', ''), ['']);
});

test('bash knows the runs of the folder, and the jobs of a run', async (t) => {
  const cwd = await temporaryFolder(t, { 'runs/a-1/jobs/0000/x': '', 'runs/b-2/jobs/0001/x': '' });
  assert.deepEqual(await offeredIn(cwd, 'status', ''), ['a-1', 'b-2']);
  assert.deepEqual(await offeredIn(cwd, 'logs', 'b'), ['b-2']);
  assert.deepEqual(await offeredIn(cwd, 'retry', 'b-2', ''), ['0001']);
  assert.deepEqual(await offeredIn(cwd, 'status', '--j'), ['--json']);
  assert.deepEqual(await offeredIn(cwd, 'put', ''), ['']);
});

/** How each shell is asked what may follow, with its script in `$1`. */
const asks = {
  zsh: `autoload -Uz compinit; compinit -D; . "$1"; words=(updraft mini p) CURRENT=3 PREFIX=p
_describe() { print -l -- "\${(@P)2}"; }; _updraft`,
  fish: 'source $argv[1]; complete -C "updraft mini p"',
};

for (const [shell, ask] of Object.entries(asks))
  test(`${shell} completes subcommands, with a line about each`, async (t) => {
    const file = path.join(await temporaryFolder(t), 'script');
    await writeFile(file, await scriptFor(shell));
    const words = shell === 'zsh' ? ['-f', '-c', ask, shell, file] : ['-c', ask, file];
    const { error, stdout, stderr } = spawnSync(shell, words, { encoding: 'utf8' });
    if (error !== undefined) t.skip(`no ${shell} on this machine`);
    else
      assert.match(
        `${stdout}${stderr}`,
        /^pool[\t:]run a real HTCondor pool of three sites on this machine\n$/m,
      );
  });

test('an unknown shell is refused with the list of known ones', async () => {
  await assert.rejects(scriptFor('tcsh'), /bash, zsh, fish/);
});
