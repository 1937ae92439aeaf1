import path from 'node:path';
import { parseTime } from '@updraft/base';
import { attemptFiles, attemptFolder } from '@updraft/account/run-folder';
import { type Entry, type JobState, JournalTail, readWhole } from '@updraft/account/journal';
import { stacked } from '@updraft/view/charts';
import { partsOf } from './job-row.ts';
import type { JobDetail } from './page-data.ts';

type Bar = JobDetail['lanes'][number]['bars'][number];

/** More of an attempt look the same. */
const maxBars = 120;

const isWanted = (line: string): boolean => /"kind":"(?:heartbeat|progress|checkpoint-saved)"/.test(line);

/** What a job did over the seconds since its first attempt: where, in which phase, with which use of data and GPUs. */
export async function jobLanes(folder: string, { id, attempts }: JobState): Promise<JobDetail['lanes']> {
  const startOf = ({ startedAt, agent }: JobState['attempts'][number]) =>
    parseTime(startedAt ?? agent?.startedAt ?? '') / 1000;
  const started = attempts.map(startOf).filter((time) => !Number.isNaN(time));
  const begin = Math.min(...started);
  const [places, phases, gpus, waits]: [Bar[], Bar[], Bar[], Bar[]] = [[], [], [], []];
  const saved: number[] = [];
  for (const attempt of attempts) {
    const from = startOf(attempt) - begin;
    const parts = stacked(partsOf(attempt).map(([phase, millis]) => [phase, millis / 1000]));
    const to = from + (parts.at(-1)?.to ?? 0);
    phases.push(...parts.map((bar) => ({ ...bar, from: bar.from + from, to: bar.to + from })));
    const words = `attempt ${attempt.number} at ${attempt.site || attempt.machine}, ${attempt.ending}`;
    places.push({ part: 'place', from, to, words, strength: attempt.number % 2 === 1 ? 0.35 : 0.6 });
    const least = (to - from) / maxBars;
    let [beat, report, waited] = [from, from, 0];
    const take = (entry: Entry) => {
      const at = parseTime(entry.t) / 1000 - begin;
      if (entry.kind === 'checkpoint-saved') saved.push(at);
      else if (entry.kind === 'heartbeat' && entry.gpuPercent !== undefined && at - beat > least) {
        gpus.push(shareBar('gpu', beat, at, entry.gpuPercent / 100));
        beat = at;
      } else if (entry.kind === 'progress' && entry.waited !== undefined && at - report > least) {
        waits.push(shareBar('waiting for data', report, at, (entry.waited - waited) / (at - report)));
        [report, waited] = [at, entry.waited];
      }
    };
    const file = path.join(attemptFolder(folder, id, attempt.number), attemptFiles.journal);
    await readWhole(new JournalTail(file, isWanted), (entries) => entries.forEach(take));
  }
  const lanes = [
    { name: 'place', bars: places },
    { name: 'phase', bars: phases },
    { name: 'GPU use', bars: gpus },
    { name: 'data waits', bars: waits },
    { name: 'checkpoints', bars: [], ticks: saved },
  ];
  return lanes.filter(({ bars, ticks = [] }) => bars.length + ticks.length > 0);
}

/** A new start counts its waits from 0. */
const shareBar = (part: string, from: number, to: number, share: number): Bar => {
  const strength = Math.max(0, Math.min(1, share));
  return { part, from, to, strength, words: `${Math.round(strength * 100)} %` };
};
