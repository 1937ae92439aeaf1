import { parseArgs } from 'node:util';
import { runReplay } from './run-replay.ts';
import { missedGoals, sideBySide } from './side-by-side.ts';

const { values } = parseArgs({
  options: {
    jobs: { type: 'string', default: '100' },
    seed: { type: 'string', default: '1' },
    scale: { type: 'string', default: '180' },
    only: { type: 'string', multiple: true, default: ['seed', 'updraft'] },
    together: { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
  },
});

const started = performance.now();
const say = (line: string): void => {
  console.error(`${((performance.now() - started) / 1000).toFixed(0)} s: ${line}`);
};
const interrupted = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => interrupted.abort(new Error('interrupted')));

const { jobs, seed, scale, ...chosen } = values;
const accounts = await runReplay({
  ...{ jobs: Number(jobs), seed: Number(seed), scale: Number(scale), ...chosen },
  ...{ say, signal: interrupted.signal },
});
console.log(sideBySide(accounts, Number(scale)));
const updraft = accounts.get('Updraft');
const missed = updraft === undefined ? [] : missedGoals(updraft);
for (const goal of missed) console.log(`\nmissed: ${goal}`);
process.exitCode = missed.length === 0 ? 0 : 1;
