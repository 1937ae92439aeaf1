import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { writeSync } from 'node:fs';
import { mkdir, open, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { stoppedEarly } from '@updraft/account/journal';
import { supervise } from '../../src/pool/local/supervisor.ts';
import { judge, mergeResults, parseNoteName, type Rungs } from '../../src/search/rungs.ts';
import { hurriedClock } from './hurried-clock.ts';
import { RunHarness } from './run-harness.ts';

const budgets = [1, 2, 4];
const rungs: Rungs = { metric: 'val_accuracy', isLowerBetter: false, unit: 'epochs', budgets, eta: 3 };
const trials = 15;
/** The metric of a trial after an epoch: who is good early is not always so later. */
const valueOf = (trial: number, epoch: number): number =>
  (((trial * 7) % 15) + ((trial * epoch * 3) % 5)) / 32;

/** The table of each rung, and where trials are stopped, if one comes after the other. */
function expected(): { tables: Map<string, number>[]; stops: number[] } {
  const tables = budgets.map(() => new Map<string, number>());
  const stops = Array.from({ length: trials }, (_, trial) => {
    for (const [rung, budget] of budgets.entries()) {
      const [table, value] = [tables[rung]!, valueOf(trial, budget)];
      const verdict = judge(value, [...table.values()], rungs);
      table.set(String(trial).padStart(4, '0'), value);
      if (!verdict.goesOn && rung < budgets.length - 1) return budget;
    }
    return 0;
  });
  return { tables, stops };
}

/**
 * Waits for the end of the trial before it; stays where it is to be stopped until it is asked to leave; and ends its
 * agent and itself, once, where the file `kill` of its folder says.
 */
const train = `
at=\${LOG%/*}/trial-$1
end() {
  if [ "$(cat $at/kill)" != "$1" ] || [ -e $at/killed ]; then return; fi
  : > $at/killed
  kill -9 $agent $$
}
agent=$$
until grep -q order.json /proc/$agent/cmdline; do agent=$(sed -n 's/^PPid:\\t//p' /proc/$agent/status); done
trap 'end leaving; exit 85' TERM
[ -e $at/turn.done ] || read -r go < $at/turn
: > $at/turn.done
n=$(cat ckpt/n 2> /dev/null || echo 0)
while [ $n -lt 4 ]; do
  while [ $n -gt 0 ] && [ $n -eq $(cat $at/stop) ]; do sleep 0.05; done
  end before-$((n+1))
  n=$((n+1)); echo $n > ckpt/n.part; mv ckpt/n.part ckpt/n
  echo "epoch $n val_accuracy $(sed -n "$n p" $at/curve)"
  end after-$n
done
echo 1 > model.pt
`;

/** In turns: before a rung, right after a report, and when asked to leave; who is not, in its last epoch. */
const killOf = (trial: number, stop: number): string =>
  [`before-${stop || 3}`, `after-${stop || 2}`, stop === 0 ? 'before-4' : 'leaving'][trial % 3]!;

const jobFile = `name = "bench"
[train]
command = "sh train.sh {index} {lr}"
files = ["train.sh"]
outputs = ["model.pt"]
checkpoint = "ckpt"
[resources]
cpus = 1
memory = "10 MB"
[run]
pool = "local"
[search]
trials = ${trials}
metric = "val_accuracy"
epochs = ${JSON.stringify(budgets)}
ranges = { lr = { log = [1e-4, 0.1] } }
`;

interface Searched {
  tables: Map<string, number>[];
  notes: number;
  stops: number[];
  endings: string[][];
}

async function search(t: TestContext, isKilled: boolean): Promise<Searched> {
  const harness = await RunHarness.make(t);
  const at = (trial: number, file = ''): string => path.join(harness.folder, `trial-${trial}`, file);
  for (const [trial, stop] of expected().stops.entries()) {
    await mkdir(at(trial));
    await writeFile(at(trial, 'stop'), String(stop));
    await writeFile(at(trial, 'kill'), isKilled ? killOf(trial, stop) : 'never');
    await writeFile(at(trial, 'curve'), [1, 2, 3, 4].map((epoch) => `${valueOf(trial, epoch)}\n`).join(''));
    execFileSync('mkfifo', [at(trial, 'turn')]);
  }
  await writeFile(path.join(harness.folder, 'train.sh'), train);
  await writeFile(path.join(harness.folder, 'updraft.toml'), jobFile);
  const turns = await Promise.all(
    Array.from({ length: trials }, (_, trial) => open(at(trial, 'turn'), 'r+')),
  );
  const run = await harness.createRun();
  const machine = { cpus: trials, memoryBytes: 2 ** 40, gpus: [] };
  const supervised = supervise(await harness.supervision(run, { machine, clock: hurriedClock() }));
  let ended = -1;
  const { jobs } = await harness.until(run, ({ jobs: seen, endedAt }) => {
    const next = seen.findIndex(({ status }) => status !== 'ended');
    for (; ended < next; ended++) writeSync(turns[ended + 1]!.fd, 'go\n');
    return endedAt !== undefined;
  });
  await supervised;
  for (const turn of turns) await turn.close();
  const folders = budgets.map((_, rung) => path.join(run, 'notes', `rung-${rung + 1}`));
  const notes = await Promise.all(folders.map((folder) => readdir(folder)));
  return {
    tables: notes.map((names) => mergeResults(names.flatMap(parseNoteName))),
    notes: notes.flat().length,
    stops: jobs.map((job) => stoppedEarly(job)?.at ?? 0),
    endings: jobs.map(({ attempts }) => attempts.map(({ ending }) => ending)),
  };
}

async function compare(t: TestContext, isKilled: boolean): Promise<void> {
  const { tables, stops } = expected();
  const found = await search(t, isKilled);
  assert.deepEqual(found.tables, tables);
  assert.deepEqual(found.stops, stops);
  const values = tables.reduce((sum, { size }) => sum + size, 0);
  assert.equal(found.notes, values, 'nothing is reported twice');
  const endings = isKilled ? ['lost', 'success'] : ['success'];
  assert.deepEqual(found.endings, Array(trials).fill(endings));
}

test('trials that come one after the other have the rungs that follow from their order', (t) =>
  compare(t, false));

test('they have the same rungs if every second attempt is killed', (t) => compare(t, true));
