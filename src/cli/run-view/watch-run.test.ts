/** `watch` without a terminal and with one: which changes get a line, and what leaving does. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { runCommand } from '../../../test/cli/run-command.ts';
import { growingRun, type GrowingRun } from '../../../test/growing-run.ts';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import { Fault, kinds } from '@updraft/account/fault';
import { runFiles } from '@updraft/account/run-folder';
import { loadPlan } from '../../job/load-plan.ts';
import * as status from '../commands/status.ts';
import { configureWatch } from '../commands/run.ts';
import type { Terminal } from '../text/terminal.ts';

const watch = { configure: configureWatch };

async function aRun(t: TestContext, jobs = ['0000']): Promise<{ cwd: string; growing: GrowingRun }> {
  const cwd = await temporaryFolder(t);
  return { cwd, growing: await growingRun(t, cwd, jobs) };
}

/** A terminal whose keys and size the test controls, and that records what was undone. */
function fakeTerminal() {
  const keys = new Set<(key: string) => void>();
  const resizes = new Set<() => void>();
  let columns = 80;
  const listen = <T>(set: Set<T>, listener: T) => {
    set.add(listener);
    return () => void set.delete(listener);
  };
  const terminal: Terminal = {
    size: () => ({ columns, rows: 24 }),
    onKey: (listener) => listen(keys, listener),
    onResize: (listener) => listen(resizes, listener),
  };
  return {
    terminal,
    press: (key: string) => {
      for (const listener of keys) listener(key);
    },
    resize: (to: number) => {
      columns = to;
      for (const listener of resizes) listener();
    },
    isReleased: () => keys.size === 0 && resizes.size === 0,
  };
}

test('without a terminal watch prints a line per change, and a good run ends with exit 0', async (t) => {
  const { cwd, growing } = await aRun(t);
  const watching = runCommand(watch, [], { cwd });
  await growing.succeed('0000');
  const { out, err } = await watching;
  assert.match(
    out.trimEnd().split('\n').at(-1) ?? '',
    /^\d{4}-\d\d-\d\dT[\d:]+Z 0000 try 1 success at node-a$/,
  );
  assert.ok(!out.includes('\x1b'));
  assert.match(err, /next:\n {2}updraft report cifar10-k3v9q1/);
});

async function writeMatrix(cwd: string, folder: string, matrix: string): Promise<void> {
  const file = path.join(cwd, 'updraft.toml');
  await writeFile(file, `name = "x"\n[train]\ncommand = "t"\noutputs = ["m"]\n[run.matrix]\n${matrix}`);
  await writeFile(path.join(folder, runFiles.plan), JSON.stringify(await loadPlan(file)));
}

test('without a terminal jobs of a matrix are named by the parameters in which they differ', async (t) => {
  const { cwd, growing } = await aRun(t, ['0000', '0001']);
  await writeMatrix(cwd, growing.folder, 'lr = [1e-4, 1e-3]\nschedule = ["cosine"]\noptimizer = ["adam"]\n');
  const watching = runCommand(watch, [], { cwd });
  await growing.succeed('0000');
  await growing.succeed('0001');
  const { out } = await watching;
  const { out: listed } = await runCommand(status, [], { cwd });
  for (const name of ['0000 lr=1e-4', '0001 lr=1e-3']) {
    assert.match(out, new RegExp(`Z ${name} try 1 success at node-a$`, 'm'));
    assert.match(listed, new RegExp(`^${name} +1 +success`, 'm'));
  }
});

test('with --json each change is a line with an object of the changed jobs', async (t) => {
  const { cwd, growing } = await aRun(t, ['0000', '0001']);
  await writeMatrix(cwd, growing.folder, 'lr = [1e-4, 1e-3]\n');
  const watching = runCommand(watch, ['--json'], { cwd });
  await growing.succeed('0000');
  await growing.succeed('0001');
  const lines = (await watching).out
    .trimEnd()
    .split('\n')
    .map(
      (line) =>
        JSON.parse(line) as {
          tally: { success: number };
          endedAt: string | null;
          jobs: { id: string; status: string; parameters: object; metrics: object }[];
        },
    );
  assert.equal(lines.at(-1)?.tally.success, 2);
  assert.notEqual(lines.at(-1)?.endedAt, null);
  assert.deepEqual(
    lines[0]?.jobs.map(({ parameters }) => parameters),
    [{ lr: 1e-4 }, { lr: 1e-3 }],
  );
  const ended = lines.flatMap(({ jobs }) => jobs.filter(({ status }) => status === 'ended'));
  assert.deepEqual(
    ended.map(({ id }) => id),
    ['0000', '0001'],
    'each ended once, and no later line repeats it',
  );
  assert.deepEqual(ended[1], {
    ...{ id: '0001', status: 'ended', state: 'success', outcome: 'success', parameters: { lr: 1e-3 } },
    ...{ attempt: 1, where: 'node-a', metrics: {}, best: {} },
  });
});

test('a run with a job that has no valid result ends the watch with exit 1 and names the next commands', async (t) => {
  const { cwd, growing } = await aRun(t);
  await growing.run({ kind: 'job-ended', job: '0000', outcome: 'failed' });
  await assert.rejects(runCommand(watch, [], { cwd }), (thrown) => {
    assert.ok(thrown instanceof Fault);
    assert.equal(kinds[thrown.kind].exit, 1);
    assert.match(
      thrown.fix ?? '',
      /`updraft why cifar10-k3v9q1` explains it, `updraft retry cifar10-k3v9q1`/,
    );
    return true;
  });
});

for (const [key, name] of [
  ['q', 'q'],
  ['\x03', 'Ctrl-C'],
] as const)
  test(`${name} leaves the live view, restores the terminal, and the run continues`, async (t) => {
    const { cwd } = await aRun(t);
    const fake = fakeTerminal();
    let out = '';
    const drawn = Promise.withResolvers<undefined>();
    const watching = runCommand(watch, [], {
      cwd,
      terminal: fake.terminal,
      out: (text) => {
        out += text;
        if (text.includes('0000')) drawn.resolve(undefined);
      },
    });
    await drawn.promise;
    fake.press('x');
    fake.press(key);
    const { err } = await watching;
    assert.ok(out.startsWith('\x1b[?1049h'));
    assert.match(out, /\x1b\[\?7h\x1b\[\?25h\x1b\[\?1049l[^\x1b]*$/, 'screen, cursor and wrapping are back');
    assert.ok(fake.isReleased());
    assert.match(err, /the run continues/);
  });

test('what follows the last screen does not push the name of the run away', async (t) => {
  const jobs = Array.from({ length: 40 }, (_, index) => String(index).padStart(4, '0'));
  const { cwd } = await aRun(t, jobs);
  const fake = fakeTerminal();
  let last = '';
  const watching = runCommand(watch, [], {
    cwd,
    terminal: fake.terminal,
    out: (text) => {
      last = text;
      if (text.includes('0000')) fake.press('q');
    },
  });
  const { err } = await watching;
  const lines = [...last.split('\n'), ...err.split('\n')];
  assert.match(lines[0] ?? '', /^cifar10-k3v9q1 · pool local .* left$/);
  assert.ok(lines.length <= fake.terminal.size().rows, `${lines.length} lines`);
});

test('the live view is redrawn when the terminal is resized', async (t) => {
  const { cwd } = await aRun(t);
  const fake = fakeTerminal();
  const draws: string[] = [];
  const narrow = Promise.withResolvers<undefined>();
  const wide = Promise.withResolvers<undefined>();
  const watching = runCommand(watch, [], {
    cwd,
    terminal: fake.terminal,
    out: (text) => {
      draws.push(text);
      if (text.includes('0000')) (fake.terminal.size().columns === 80 ? narrow : wide).resolve(undefined);
    },
  });
  await narrow.promise;
  fake.resize(160);
  await wide.promise;
  fake.press('q');
  await watching;
  assert.ok(draws.some((text) => text.includes(`${' '.repeat(60)}q leaves`)));
});

test('a signal leaves the view too, with exit 5, and restores the terminal', async (t) => {
  const { cwd } = await aRun(t);
  const fake = fakeTerminal();
  const stop = new AbortController();
  const watching = runCommand(watch, [], {
    cwd,
    terminal: fake.terminal,
    signal: stop.signal,
    out: (text) => {
      if (text.includes('0000')) stop.abort(new Fault('interrupted', 'stopped'));
    },
  });
  await assert.rejects(watching, (thrown) => thrown instanceof Fault && kinds[thrown.kind].exit === 5);
  assert.ok(fake.isReleased());
});
