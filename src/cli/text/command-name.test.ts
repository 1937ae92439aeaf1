import assert from 'node:assert/strict';
import { chmod, mkdir, symlink } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { runCommand } from '../../../test/cli/run-command.ts';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import type { Cli } from '../cli.ts';
import { commandName, withCommandName } from './command-name.ts';
import { nextCommands } from './phrases.ts';

test('the printed command is `updraft` only where that starts this program', async (t) => {
  const root = await temporaryFolder(t, {
    'checkout/bin/updraft.mjs': '',
    'tools/updraft': '',
    'other/updraft': '',
  });
  const script = path.join(root, 'checkout/bin/updraft.mjs');
  for (const file of [script, path.join(root, 'tools/updraft'), path.join(root, 'other/updraft')])
    await chmod(file, 0o755);
  await mkdir(path.join(root, 'links'));
  await symlink(script, path.join(root, 'links/updraft'));
  const inside = (folder: string): { PATH: string } => ({ PATH: path.join(root, folder) });

  assert.equal(await commandName(script, inside('links')), 'updraft');
  assert.equal(await commandName(path.join(root, 'links/updraft'), {}), `node ${script}`);
  // npm has another package of this name.
  assert.equal(await commandName(script, inside('other')), `node ${script}`);
  assert.equal(await commandName(script, { ...inside('links'), npm_command: 'exec' }), 'npx updraft');
  const executable = path.join(root, 'tools/updraft');
  assert.equal(await commandName(executable, inside('tools')), 'updraft');
  assert.equal(await commandName(executable, inside('other')), executable);
});

test('only commands are renamed', () => {
  const text =
    'next: updraft status\n  fix: run `updraft env lock`; updraft.toml of updraft, mini/updraft run\n';
  assert.equal(
    withCommandName(text, 'node bin/updraft.mjs'),
    'next: node bin/updraft.mjs status\n  fix: run `node bin/updraft.mjs env lock`; updraft.toml of updraft, mini/updraft run\n',
  );
  assert.equal(withCommandName('updraft --help', 'npx updraft'), 'npx updraft --help');
  assert.equal(withCommandName('npx updraft --help', 'npx updraft'), 'npx updraft --help');
});

test('a sentence that its command makes too long is wrapped again, a command is not', () => {
  const [sentence, line] = [
    '  died: Fix the script, then `updraft retry`; it',
    '  updraft retry --with-new-files JOB',
  ];
  const name = 'node /opt/updraft/bin/updraft.mjs';
  assert.deepEqual(withCommandName(`${sentence}\n${line}\n  x ${'y'.repeat(60)}\n`, name, 50).split('\n'), [
    '  died: Fix the script, then',
    `    \`${name} retry\`; it`,
    line.replace('updraft', name),
    `  x ${'y'.repeat(60)}`,
    '',
  ]);
});

test('where the command is a path, the columns of the next commands stay even', async () => {
  const configure = (_: unknown, cli: Cli): void =>
    nextCommands(cli, [
      ['updraft status', 'how far it is'],
      ['tar -xzf a.tar.gz', 'unpack it'],
    ]);
  const { err } = await runCommand({ configure }, ['--'], { cwd: '/', name: '/opt/updraft' });
  assert.equal(err, '\nnext:\n  /opt/updraft status  how far it is\n  tar -xzf a.tar.gz    unpack it\n');
});

test('a command that is too long for the terminal is broken so that a shell takes it as one', async () => {
  const command =
    "updraft compare --by encoder_backbone,seed --metric dice --valid 'bytes>1M && seconds>600' --latex";
  const configure = (_: unknown, cli: Cli): void => nextCommands(cli, [[command, 'the tables']]);
  const { err } = await runCommand({ configure }, ['--'], { cwd: '/', columns: 50, errIsTerminal: true });
  assert.deepEqual(err.split('\n').slice(2, -1), [
    '  updraft compare --by encoder_backbone,seed \\',
    '    --metric dice \\',
    "    --valid 'bytes>1M && seconds>600' --latex",
    '      the tables',
  ]);
});
