import type { AttemptHistory } from '@updraft/account/history';
import { type Place, scorePlaces } from '@updraft/account/recovery';
import { markdownTable } from '../markdown-table.ts';
import { metlAttempts } from '../metl/attempts.ts';
import { randomNumbers } from '../search/curves.ts';

/**
 * `node bench/rank/run.ts`: what ranking free slots by an earlier run's attempts brings, simulated with the attempts of
 * METL's pretraining on the OSPool. An attempt on a slot goes as one of those at its site and GPU did.
 */
interface Row {
  site: string;
  gpu: string;
  isDone: boolean;
  isEvicted: boolean;
  seconds: number;
}

const rows: Row[] = metlAttempts().map(({ site, gpu, status, seconds }) => ({
  ...{ site, gpu, seconds, isDone: status === 'completed', isEvicted: status === 'evicted' },
}));
const placeOf = ({ site, gpu }: { site: string; gpu: string }): string => `${site}\t${gpu}`;
const byPlace = Map.groupBy(rows, placeOf);

const historyOf = ({ site, gpu, isDone, isEvicted, seconds }: Row): AttemptHistory =>
  ({
    ...{ number: 1, waits: [], checkpointed: false, resources: [], machine: '', site, gpu },
    ending: isDone ? 'success' : isEvicted ? 'evicted' : 'failed',
    spans: [{ doing: 'training', from: 0, to: 1000 * seconds }],
    ...(isDone && { agent: { training: { pace: { epochSeconds: seconds } } } }),
  }) as unknown as AttemptHistory;

/** As HTCondor computes the line of the submit file: the place, then its GPU, then 1. */
const worthIn = (places: readonly Place[]): ((row: Row) => number) => {
  const worths = new Map(places.map((place) => [placeOf(place), place.worth]));
  return (row) => worths.get(placeOf(row)) ?? worths.get(placeOf({ site: '', gpu: row.gpu })) ?? 1;
};

interface Outcome {
  slotSeconds: number;
  seconds: number;
  attempts: Row[];
}

/** Epochs of each model in the run before. */
const known = Number(process.argv[2] ?? 1);
const models = 33;
const epochsEach = 38;
/** A slot that nobody takes goes to somebody else. */
const slotLife = 3600;

/** Chains of epochs, one attempt after the other, on slots that come from any place as often as METL's did. */
function simulate(slots: number, seed: number, rank: (row: Row) => number, epochs = epochsEach): Outcome {
  const random = randomNumbers(seed);
  const any = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
  const left = Array.from({ length: models }, () => epochs);
  const waiting = left.map((_, model) => model);
  let free = Array.from({ length: slots }, () => any(rows));
  const running: { until: number; model: number; row: Row }[] = [];
  const outcome: Outcome = { slotSeconds: 0, seconds: 0, attempts: [] };
  let [now, renewed] = [0, 0];
  while (waiting.length > 0 || running.length > 0) {
    if (now - renewed >= slotLife) [free, renewed] = [free.map(() => any(rows)), now];
    while (waiting.length > 0 && free.length > 0) {
      const best = free.reduce(
        (chosen, slot, at) => (rank(slot) > rank(free[chosen] as Row) ? at : chosen),
        0,
      );
      const [slot] = free.splice(best, 1) as [Row];
      const row = any(byPlace.get(placeOf(slot)) ?? []);
      running.push({ until: now + row.seconds, model: waiting.shift() ?? 0, row });
    }
    const next = running.reduce(
      (first, one, at) => (one.until < (running[first]?.until ?? Infinity) ? at : first),
      0,
    );
    const [ended] = running.splice(next, 1) as [(typeof running)[number]];
    now = ended.until;
    outcome.slotSeconds += ended.row.seconds;
    outcome.attempts.push(ended.row);
    free.push(any(rows));
    if (ended.row.isDone) left[ended.model] = (left[ended.model] ?? 0) - 1;
    if ((left[ended.model] ?? 0) > 0) waiting.push(ended.model);
    outcome.seconds = now;
  }
  return outcome;
}

const seeds = Array.from({ length: 30 }, (_, at) => at + 1);
const noRank = (): number => 1;
const table = [0.5, 1, 1.5, 2, 4].map((share) => {
  const slots = Math.round(share * models);
  const ratios = seeds.map((seed) => {
    const without = simulate(slots, seed, noRank);
    // The run before this one, to its end: attempts that end soon are not those of good places.
    const before = simulate(slots, 1000 + seed, noRank, known).attempts.map(historyOf);
    const ranked = simulate(slots, seed, worthIn(scorePlaces(before)));
    return [
      ranked.slotSeconds / without.slotSeconds,
      ranked.seconds / without.seconds,
      ranked.attempts.length / without.attempts.length,
    ];
  });
  const shown = (at: number): string => {
    const sorted = ratios.map((one) => one[at] ?? NaN).sort((a, b) => a - b);
    const text = [sorted[Math.floor(sorted.length / 2)], sorted[0], sorted.at(-1)].map((one) =>
      one?.toFixed(2),
    );
    return `${text[0]} (${text[1]} to ${text[2]})`;
  };
  return [String(share), shown(0), shown(1), shown(2)];
});
console.log(
  `${rows.length} attempts at ${byPlace.size} places; ${models} models of ${epochsEach} epochs; ${seeds.length} seeds\n`,
);
console.log(markdownTable(['free slots per model', 'slot time', 'time', 'attempts'], table));
