import { isLowerBetter } from '@updraft/base/training';
import { lineChart, linearScale, shortNumber, timeUnit } from '@updraft/view/charts';
import { type Chart, type Section, sectionTable } from '@updraft/view/document';
import { formatSeconds } from '@updraft/view/format';
import type { JobHistory } from '../history/history.ts';
import { stoppedEarly } from '../journal/describe-attempt.ts';

/** What the trials of a search have come to. */
export interface SearchReport {
  metric: string;
  unit: 'epochs' | 'steps';
  rungs: { rung: number; at: number; trials: number; stopped: number; best: number }[];
  /** Each report that was better than all before, and the time on slots of all trials until then. */
  best: { job: string; value: number; slotSeconds: number }[];
  /** Of all trials. */
  slotSeconds: number;
}

/** Undefined for jobs that are no trials, or have reached no rung. */
export function searchReport(jobs: readonly JobHistory[]): SearchReport | undefined {
  const reports = jobs.flatMap(({ id: job, attempts }) =>
    attempts.flatMap(({ agent }) =>
      (agent?.training?.rungs ?? []).map((one) => ({ ...one, job, time: Date.parse(one.t ?? '') })),
    ),
  );
  const [first] = reports;
  if (first === undefined) return undefined;
  const { metric, unit } = first;
  const sign = isLowerBetter(metric, jobs[0]?.directions) ? -1 : 1;
  const best: SearchReport['best'] = [];
  for (const { job, value, time } of reports.toSorted((a, b) => a.time - b.time))
    if (sign * value > sign * (best.at(-1)?.value ?? -sign * Infinity))
      best.push({ job, value, slotSeconds: slotSecondsUntil(jobs, time) });
  const ended = Map.groupBy(jobs, (job) => stoppedEarly(job)?.rung);
  const rungs = [...Map.groupBy(reports, ({ rung }) => rung)].map(([rung, here]) => ({
    rung,
    at: here[0]?.at ?? NaN,
    stopped: ended.get(rung)?.length ?? 0,
    trials: new Set(here.map(({ job }) => job)).size,
    best: here.reduce((top, { value }) => (sign * value > sign * top ? value : top), -sign * Infinity),
  }));
  rungs.sort((a, b) => a.rung - b.rung);
  return { metric, unit, rungs, best, slotSeconds: slotSecondsUntil(jobs, Infinity) };
}

function slotSecondsUntil(jobs: readonly JobHistory[], time: number): number {
  let millis = 0;
  for (const { from: start, attempts } of jobs)
    for (const { spans } of attempts)
      for (const { from, to } of spans) millis += Math.max(0, Math.min(to, time - start) - from);
  return millis / 1000;
}

interface Searched {
  search?: SearchReport;
}

export const searchSections = ({ search }: Searched): Section[] =>
  search === undefined
    ? []
    : [
        sectionTable(
          'search',
          'Search',
          `rung> | ${search.unit}> | trials> | stopped here> | best ${search.metric}>`,
          search.rungs.map(({ rung, at, trials, stopped, best }) => [
            rung,
            at,
            trials,
            stopped,
            shortNumber(best),
          ]),
          { after: search.best.slice(-1).map(bestSentence) },
        ),
      ];

const bestSentence = ({ job, value, slotSeconds }: SearchReport['best'][number]): string =>
  `The best so far is ${shortNumber(value)}, of trial ${job}, after ${formatSeconds(slotSeconds)} on slots.`;

/** The best so far over the time on slots of all trials. */
export function searchCharts({ search }: Searched): Chart[] {
  if (search === undefined || search.best.length === 0) return [];
  const { metric, best, slotSeconds } = search;
  const ends = [...best.slice(1).map((one) => one.slotSeconds), slotSeconds];
  const points = best.flatMap((one, at) => [one.slotSeconds, one.value, ends[at] ?? slotSeconds, one.value]);
  const values = best.map(({ value }) => value);
  const plot = {
    description: best.map(bestSentence).join(' '),
    width: 720,
    height: 200,
    coloured: 1,
    x: { scale: linearScale(0, slotSeconds, timeUnit(slotSeconds)), name: 'on slots' },
    y: { scale: linearScale(Math.min(...values), Math.max(...values)), name: metric },
  };
  const { svg } = lineChart([{ id: 'best', points }], plot);
  return [{ section: 'search', title: `Best ${metric} so far`, svg }];
}
