import type { Clock } from '../base/clock.ts';
import type { JobState, RunState } from '../journal/state.ts';
import { boardOf } from './board.ts';
import { jobDetail } from './job-detail.ts';
import { jobRow, type TellJob } from './job-row.ts';
import { pageMaker } from './page.ts';
import type { JobDetail } from './page-data.ts';
import type { RunSource } from './run-source.ts';

/** Jobs that are told in full; of a big run the file would grow beyond what a browser likes. */
const mostDetails = 300;
const curvePoints = 60;

/** The dashboard of a run at this moment as one file that needs no server and no network. */
export async function staticPage(
  source: RunSource,
  state: RunState,
  { tell, clock, version }: { tell: TellJob; clock: Clock; version: string },
): Promise<string> {
  const now = clock.now();
  const details: Record<string, JobDetail> = {};
  for (const job of state.jobs.toSorted(byNeed).slice(0, mostDetails))
    details[job.id] = await jobDetail(source, job, now, curvePoints);
  const makePage = await pageMaker();
  const { html } = makePage({
    mode: 'static',
    base: '',
    runs: [],
    change: {
      board: boardOf(state, { place: source.place, trouble: null, stop: null, retry: null }, now),
      rows: state.jobs.map((job) => jobRow(job, tell, now)),
      reset: true,
    },
    details,
    version,
  });
  return html;
}

/** Those with trouble first, then those with several attempts. */
const byNeed = (a: JobState, b: JobState): number => need(b) - need(a);

const need = ({ outcome, held, attempts }: JobState): number =>
  (held !== undefined || (outcome !== undefined && outcome !== 'success') ? 1000 : 0) + attempts.length;
