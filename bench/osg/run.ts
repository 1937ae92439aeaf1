import { parseArgs } from 'node:util';
import { runReplay } from './run-replay.ts';
import { missedGoals, sideBySide } from './side-by-side.ts';

const { values } = parseArgs({
  options: {
    jobs: { type: 'string', default: '100' },
    seed: { type: 'string', default: '1' },
    scale: { type: 'string' },
    only: { type: 'string', multiple: true, default: ['seed', 'updraft'] },
    keep: { type: 'boolean', default: false },
  },
});

/** Timeout in case something hangs. */
const maxMs = 2 * 3_600_000;
const ended = { wellDone: 0, goalsMissed: 1, failed: 2 };

const started = performance.now();
const say = (line: string): void => {
  console.error(`${((performance.now() - started) / 1000).toFixed(0)} s: ${line}`);
};
const over = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => over.abort(new Error(`ended by ${signal}`)));
const timer = setTimeout(() => over.abort(new Error('not over in two hours')), maxMs);

const { jobs, seed, scale: asked, ...chosen } = values;
try {
  const { accounts, scale } = await runReplay({
    jobs: Number(jobs),
    seed: Number(seed),
    scale: asked === undefined ? undefined : Number(asked),
    ...chosen,
    say,
    signal: over.signal,
  });
  console.log(sideBySide(accounts, scale));
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
