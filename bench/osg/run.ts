import { parseArgs } from 'node:util';
import { runReplay } from './run-replay.ts';
import { missedGoals, sideBySide } from './side-by-side.ts';

const { values } = parseArgs({
  options: {
    jobs: { type: 'string', default: '100' },
    seed: { type: 'string', default: '1' },
    scale: { type: 'string', default: '110' },
    only: { type: 'string', multiple: true, default: ['seed', 'updraft'] },
    keep: { type: 'boolean', default: false },
  },
});

/** Timeout in case something hangs: two cores need much less. */
const maxMs = 45 * 60_000;
const ended = { wellDone: 0, goalsMissed: 1, failed: 2 };

const started = performance.now();
const say = (line: string): void => {
  console.error(`${((performance.now() - started) / 1000).toFixed(0)} s: ${line}`);
};
const over = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => over.abort(new Error(`ended by ${signal}`)));
const timer = setTimeout(() => over.abort(new Error('not over in 45 minutes')), maxMs);

const { jobs, seed, scale, ...chosen } = values;
try {
  const accounts = await runReplay({
    jobs: Number(jobs),
    seed: Number(seed),
    scale: Number(scale),
    ...chosen,
    say,
    signal: over.signal,
  });
  console.log(sideBySide(accounts, Number(scale)));
  const updraft = accounts.get('Updraft');
  const missed = updraft === undefined ? [] : missedGoals(updraft);
  for (const goal of missed) console.log(`\nmissed: ${goal}`);
  process.exitCode = missed.length === 0 ? ended.wellDone : ended.goalsMissed;
} catch (error) {
  const reason: unknown = over.signal.aborted ? over.signal.reason : error;
  say(reason instanceof Error ? reason.message : String(reason));
  process.exitCode = ended.failed;
} finally {
  clearTimeout(timer);
}
