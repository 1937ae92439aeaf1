import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import type { Command } from 'commander';
import { exampleWords } from '../../test/cli/example-words.ts';
import { runCommand } from '../../test/cli/run-command.ts';
import { buildProgram } from './command-line.ts';
import { helpOf } from './help.ts';

/** The program on a terminal of this width. */
async function programAt(columns: number): Promise<Command> {
  let program: Promise<Command> | undefined;
  await runCommand({ configure: (_, cli) => void (program = buildProgram(cli, 'all')) }, [], {
    cwd: '/',
    columns,
  });
  assert.ok(program !== undefined);
  return program;
}

/** Every command, by its words after `updraft`. */
function commandsOf(command: Command, at = ''): [string, Command][] {
  const below = command.createHelp().visibleCommands(command);
  return [[at, command], ...below.flatMap((one) => commandsOf(one, `${at} ${one.name()}`.trim()))];
}

/** Without the backslash at which a shell joins the lines of a command. */
const wordsOf = (text: string): string[] => text.replaceAll(' \\\n', '\n').split(/\s+/);
const docs = path.join(import.meta.dirname, '../../docs');

test('help fits the width of the terminal and breaks no word', async () => {
  const [unwrapped, ...programs] = await Promise.all([100, 60, 80, 120].map(programAt));
  assert.ok(unwrapped !== undefined);
  const whole = new Map(commandsOf(unwrapped).map(([at, command]) => [at, command.helpInformation()]));
  for (const [index, columns] of [60, 80, 120].entries())
    for (const [at, command] of commandsOf(programs[index] ?? unwrapped)) {
      const text = command.helpInformation();
      assert.deepEqual(wordsOf(text), wordsOf(whole.get(at) ?? ''), at);
      for (const line of text.split('\n'))
        assert.ok(line.length <= columns, `updraft ${at}, ${columns} columns: ${line}`);
    }
});

test('every command says in one line what it does, has examples, and a page that exists', async () => {
  const page = readFileSync(path.join(docs, 'commands.md'), 'utf8');
  const commands = commandsOf(await programAt(80));
  for (const [at, command] of commands) {
    const text = command.helpInformation();
    const { page: more, examples } = helpOf(command);
    assert.match(text, /\n\n[A-Z][^\n]{1,78}\.\n\n/, at);
    assert.match(text, /\nExamples:\n {2}(eval|updraft) .*\n(.*\n)*\nRead more:\n {2}updraft docs/, at);
    assert.ok(examples.length >= 2, `${at} has fewer than two examples`);
    assert.ok(more === undefined || existsSync(path.join(docs, more)), `docs/${more}`);
    if (at !== '') assert.ok(page.includes(`\n## ${at}\n`), `docs/commands.md has no section "${at}"`);
  }
});

test('every example is a command line that its command accepts', async () => {
  const root = await programAt(80);
  const reached: string[] = [];
  const commands = commandsOf(root);
  for (const [at, command] of commands) {
    command.configureOutput({ writeErr: (text) => assert.fail(text) });
    if (at !== '') command.action(() => void reached.push(at));
  }
  for (const [at, command] of commands)
    for (const [line] of helpOf(command).examples) {
      await root.parseAsync(exampleWords(line), { from: 'user' });
      const called = `${reached.pop() ?? 'nothing'} `;
      // What to do afterwards may be another command.
      if (at !== '' && !line.includes('&&')) assert.ok(called.startsWith(`${at} `), line);
    }
});
