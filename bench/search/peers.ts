import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { randomTrials } from '../../src/search/trials.ts';
import { median, shuffled } from '../interleave.ts';
import { markdownTable } from '../markdown-table.ts';
import { scratchFolder } from '../scratch.ts';
import { epochs, randomNumbers, ranges } from './curves.ts';

// Updraft, Optuna and Ray Tune search the same trials by successive halving, and lose the same slots.
const { values } = parseArgs({
  options: {
    /** One that has the peers: `pip install numpy optuna 'ray[tune]'`. */
    python: { type: 'string', default: 'python3' },
    agent: { type: 'string', default: 'dist/updraft-agent-linux-x64' },
    only: { type: 'string', multiple: true },
    seeds: { type: 'string', default: '1,2,3' },
    trials: { type: 'string', default: '40' },
    slots: { type: 'string', default: '4' },
    /** Seconds. The agent looks for a checkpoint each second, so an epoch must be longer than two. */
    epoch: { type: 'string', default: '3' },
    /** How many searches run at the same time: most of an epoch is waiting. */
    together: { type: 'string', default: '1' },
  },
});
/** A search that takes longer is ended, and fails. */
const limitSeconds = 3600;
const parts = path.join(import.meta.dirname, 'peers');
const python = path.resolve(values.python);
const trialsPerSearch = Number(values.trials);
const budgets = [1, 3, 9, epochs];

const at = (name: string): string => path.join(parts, name);
const ways: Record<string, { command: string[]; env?: NodeJS.ProcessEnv }> = {
  Updraft: {
    command: [process.execPath, at('with-updraft.ts'), values.slots, ...agentWords()],
    env: { KILL_AGENT: '1' },
  },
  'Optuna, journal': { command: [python, at('with_optuna.py'), 'journal', values.slots] },
  'Optuna, SQLite': { command: [python, at('with_optuna.py'), 'sqlite', values.slots] },
  'Ray Tune': { command: [python, at('with_ray.py'), values.slots] },
};

function agentWords(): string[] {
  return values.agent.endsWith('.ts')
    ? [process.execPath, path.resolve(values.agent)]
    : [path.resolve(values.agent)];
}

interface Search {
  way: string;
  seed: number;
}

interface Outcome extends Search {
  /** In percent of the best of all trials in full. */
  gap: number;
  lost: number;
  /** Epochs on slots; of them, what was trained again. */
  epochs: number;
  repeated: number;
  kills: number;
  attempts: number;
  rungs: number[];
  cpu: number;
  wall: number;
}

/** Of a command and of all that it started, in seconds. */
interface Cost {
  cpu: number;
  wall: number;
  status: number;
}

/** An epoch of a trial, or the part of it that an attempt had. */
interface Trained {
  trial: number;
  epoch: number;
  share: number;
  value: number | null;
}

const home = scratchFolder('disk');

/** Between two rungs, a third of the trials is killed once: in all, about a third of the attempts. */
function killsOf(seed: number): string {
  const random = randomNumbers(seed + 91);
  const points = Array.from({ length: trialsPerSearch }, (_, trial) =>
    budgets.flatMap((budget, rung) => {
      const first = (budgets[rung - 1] ?? 0) + 1;
      const [isKilled, epoch] = [random() < 1 / 3, first + Math.floor(random() * (budget - first + 1))];
      return isKilled ? [`${trial}-${epoch}`] : [];
    }),
  );
  return points.flat().join(' ');
}

async function run(command: string[], env: NodeJS.ProcessEnv, cwd: string): Promise<string> {
  const [program = '', ...words] = command;
  const child = spawn(program, words, { cwd, env: { ...process.env, OMP_NUM_THREADS: '1', ...env } });
  let [out, err] = ['', ''];
  child.stdout.on('data', (part: Buffer) => (out += part.toString()));
  child.stderr.on('data', (part: Buffer) => (err += part.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`${command.join(' ')}: ${code}\n${err}`);
  return out || err;
}

const curves = new Map<number, Promise<number[][]>>();

/** The trials of a seed, trained in full: what any search may find. */
async function recordedCurves(seed: number): Promise<number[][]> {
  const folder = path.join(home, `seed-${seed}`);
  await mkdir(folder);
  await writeFile(
    path.join(folder, 'trials.json'),
    JSON.stringify(randomTrials(ranges, trialsPerSearch, seed)),
  );
  const TRIALS = path.join(folder, 'trials.json');
  return JSON.parse(await run([python, at('trial.py'), 'record'], { TRIALS }, folder)) as number[][];
}

const jobFile = (seed: number): string => `name = "peers"
[train]
command = "${python} trial.py train {index} ${Object.keys(ranges)
  .map((name) => `{${name}}`)
  .join(' ')}"
files = ["trial.py"]
outputs = ["done"]
checkpoint = "checkpoints"
[resources]
cpus = 1
memory = "500 MB"
disk = "50 MB"
[search]
trials = ${trialsPerSearch}
metric = "val_accuracy"
epochs = ${JSON.stringify(budgets)}
seed = ${seed}
ranges = ${JSON.stringify(ranges).replaceAll(/"(\w+)":/g, '$1 = ')}
`;

async function search({ way, seed }: Search): Promise<Outcome> {
  const known = await curves.get(seed);
  const folder = path.join(home, `seed-${seed}`, way.replaceAll(/\W+/g, '-'));
  await mkdir(folder);
  await copyFile(at('trial.py'), path.join(folder, 'trial.py'));
  await writeFile(path.join(folder, 'updraft.toml'), jobFile(seed));
  const file = (name: string): string => path.join(folder, name);
  const env = {
    ...{ TRIALS: path.join(home, `seed-${seed}`, 'trials.json'), LOG: file('log') },
    ...{ KILLS: killsOf(seed), EPOCH_SECONDS: values.epoch, ...ways[way]?.env },
  };
  const metered = [python, at('metered.py'), file('cost.json'), String(limitSeconds)];
  const out = await run([...metered, ...(ways[way]?.command ?? [])], env, folder);
  const cost = JSON.parse(readFileSync(file('cost.json'), 'utf8')) as Cost;
  if (cost.status !== 0) throw new Error(`${way}, seed ${seed}: ${cost.status}\n${out}`);
  const { ended, rungs } = JSON.parse(out.trim().split('\n').at(-1) ?? '') as Pick<Outcome, 'rungs'> & {
    ended: number[];
  };
  const log = readFileSync(file('log'), 'utf8').trim().split('\n');
  const trained = log.map((line) => JSON.parse(line) as Trained);
  const whole = trained.filter(({ value }) => value !== null);
  for (const { trial, epoch, value } of whole)
    if (known?.[trial]?.[epoch - 1] !== value) throw new Error(`${way}: trial ${trial} differs at ${epoch}`);
  const best = Math.max(...whole.flatMap(({ trial, value }) => (ended.includes(trial) ? [value ?? 0] : [])));
  const kills = trained.filter(({ share, value }) => value === null && share === 0.95).length;
  const distinct = new Set(whole.map(({ trial, epoch }) => `${trial}-${epoch}`)).size;
  const sum = trained.reduce((all, { share }) => all + share, 0);
  const tried = new Set(trained.map(({ trial }) => trial)).size;
  return {
    ...{ way, seed, rungs, cpu: cost.cpu, wall: cost.wall, kills, attempts: tried + kills, epochs: sum },
    gap: 100 * (1 - best / Math.max(...(known ?? []).flat())),
    lost: trialsPerSearch - ended.length,
    repeated: sum - distinct,
  };
}

const seeds = values.seeds.split(',').map(Number);
for (const seed of seeds) curves.set(seed, recordedCurves(seed));
const chosen = values.only ?? Object.keys(ways);
const waiting = seeds.flatMap((seed) => shuffled(chosen).map((way): Search => ({ way, seed })));
const outcomes: Outcome[] = [];
async function work(): Promise<void> {
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const outcome = await search(next);
    process.stderr.write(`${JSON.stringify(outcome)}\n`);
    outcomes.push(outcome);
  }
}
await Promise.all(Array.from({ length: Number(values.together) }, work));

const rows = chosen.map((way) => {
  const all = outcomes.filter((one) => one.way === way).sort((a, b) => a.seed - b.seed);
  const list = (of: (one: Outcome) => number | string): string => all.map(of).join(', ');
  const middle = (of: (one: Outcome) => number): string => median(all.map(of)).toFixed(0);
  return [
    way,
    list(({ gap }) => `${gap.toFixed(1)} %`),
    list((one) => one.epochs.toFixed(0)),
    list((one) => one.repeated.toFixed(0)),
    list(({ kills, attempts }) => `${kills} of ${attempts}`),
    list(({ lost }) => lost),
    list(({ rungs }) => rungs.join(' ')),
    middle(({ cpu }) => cpu),
    middle(({ wall }) => wall),
  ];
});
const head = [
  '',
  'best behind',
  'epochs on slots',
  'again',
  'killed',
  'lost',
  'at the rungs',
  'CPU s',
  'wall s',
];
console.log(`Searches of ${trialsPerSearch} trials; in full, ${trialsPerSearch * epochs} epochs each\n`);
console.log(markdownTable(head, rows));
