import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { calibratedScale } from '../calibrated-scale.ts';
import { markdownTable } from '../markdown-table.ts';
import { cacheFolder, openPool } from '../osg/replay-pool.ts';
import { type Account, accountFor, type Finished } from './account.ts';
import { runPublished } from './published.ts';
import { openStage, publishedName, type Setting, type Stage } from './stage.ts';
import { runWithUpdraft } from './with-updraft.ts';
import { metlScenario } from './scenario.ts';

/**
 * `node bench/metl/run.ts`: METL's pretraining on a real HTCondor whose sites treat each epoch as they did METL's, once
 * as published and once with Updraft, side by side. First it measures what an attempt costs on this machine, and
 * chooses how much faster than METL's the time passes.
 */
const { values } = parseArgs({
  options: {
    models: { type: 'string', default: '10' },
    epochs: { type: 'string', default: '4' },
    seed: { type: 'string', default: '1' },
    scale: { type: 'string' },
    only: { type: 'string', multiple: true, default: ['published', 'updraft'] },
  },
});

const slots = { 'CHTC-Spark-CE1': 5, 'Duke-NCShare-CE1': 4, 'UIUC-TGI-RAILS-CE1': 2, 'PDX-Coeus-CE1': 1 };
const sites = Object.entries(slots).map(([name, cpus]) => {
  const hostname = `${name.toLowerCase()}.example`;
  return { name, hostname, cpus, memoryMegabytes: 512 * cpus };
});

const maxOverhead = 0.03;
const scales = { min: 300, max: 1500 };
const maxMs = 60 * 60_000;

const started = performance.now();
const say = (line: string): void => {
  console.error(`${((performance.now() - started) / 1000).toFixed(0)} s: ${line}`);
};
const over = new AbortController();
for (const name of ['SIGINT', 'SIGTERM'] as const)
  process.once(name, () => over.abort(new Error(`ended by ${name}`)));
const timer = setTimeout(() => over.abort(new Error('not over in an hour')), maxMs);
const { signal } = over;
const scenario = metlScenario();
await mkdir(cacheFolder, { recursive: true });
const folder = await mkdtemp(path.join(cacheFolder, 'metl-'));
const asked = { models: Number(values.models), epochs: Number(values.epochs), seed: Number(values.seed) };
const common = { scenario, ...asked, folder, say, signal };

type Way = (setting: Setting, stage: Stage) => Promise<Finished>;

async function runWay(name: string, way: Way, setting: Setting): Promise<Account> {
  await using pool = await openPool(
    await mkdtemp(path.join(folder, `pool-${name}-`)),
    ...([setting.scale, say, signal, sites] as const),
  );
  await using stage = await openStage(setting, pool.state, name);
  say(`${name}: ${setting.models} models of ${setting.epochs} epochs`);
  const account = await accountFor(setting, stage, await way(setting, stage));
  say(`${name}: over`);
  return account;
}

/** Seconds that an attempt of no length takes on its slot. */
async function attemptCost(): Promise<number> {
  const idle = { done: [0], first: [['completed', 0]] as const, later: [] };
  const names = Object.keys(slots);
  const quick = { ...scenario, sites: Object.fromEntries(names.map((name) => [name, idle])) };
  const setting = { ...common, scenario: quick, models: 3, epochs: 1, scale: 1 };
  const { slotHours, attempts } = await runWay('calibration', runWithUpdraft, setting);
  return (slotHours * 3600) / attempts;
}

async function chosenScale(): Promise<number> {
  if (values.scale !== undefined) return Number(values.scale);
  const attemptSeconds = scenario.meanLifeSeconds;
  return calibratedScale({ cost: attemptCost, attemptSeconds, maxOverhead, scales, say });
}

const ways: Record<string, Way> = { [publishedName]: runPublished, updraft: runWithUpdraft };
try {
  const setting = { ...common, scale: await chosenScale() };
  const chosen = Object.entries(ways).filter(([name]) => values.only.includes(name));
  const accounts = await Promise.all(chosen.map(([name, way]) => runWay(name, way, setting)));
  const row = (title: string, show: (account: Account) => string): string[] => [title, ...accounts.map(show)];
  const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
  const rows = [
    row('models that are right', ({ valid }) => `${valid} of ${asked.models}`),
    row('attempts for each epoch', ({ fetched }) => fetched.toFixed(2)),
    row('time on slots, h', ({ slotHours }) => slotHours.toFixed(0)),
    row('**useful compute**', ({ useful }) => percent(useful)),
    row('moving data', ({ moving }) => percent(moving)),
    row('starting, saving and ending', ({ overhead }) => percent(overhead)),
    row('lost', ({ lost }) => percent(lost)),
    row('makespan ÷ compute, median of models', ({ makespan }) => makespan.toFixed(2)),
  ];
  console.log(markdownTable([`scale ${setting.scale}`, ...chosen.map(([name]) => name)], rows));
} catch (error) {
  const reason: unknown = signal.aborted ? signal.reason : error;
  say(reason instanceof Error ? reason.message : String(reason));
  process.exitCode = 2;
} finally {
  clearTimeout(timer);
  await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
}
