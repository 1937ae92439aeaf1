import { markdownTable } from '../markdown-table.ts';
import { cpuBy } from './cpu-meter.ts';
import { marksOf, paceOf } from './pace.ts';
import type { Seen, SeenWithAgent } from './with-agent.ts';

export interface Measured {
  name: string;
  agent: SeenWithAgent;
  memory?: Seen;
}

/** What it takes a training to get going; what is streamed has its first thirty seconds besides. */
const warmUpMs = 5000;
const firstPartMs = 30_000;

/** The figures of all workloads as Markdown tables. */
export function showFigures(all: Measured[]): string {
  const training = markdownTable(
    [
      '',
      'exit',
      'left behind',
      'first batch s',
      'in memory s',
      'images/s',
      'in memory',
      'cost %',
      'after 30 s, images/s',
      'in memory',
      'cost %',
    ],
    all.map(trainingRow),
  );
  const agent = markdownTable(
    [
      '',
      'GB',
      'arrived in s',
      'MB/s',
      'agent CPU s',
      'while data arrived',
      's per GB',
      'afterwards, % of a core',
      'over all, %',
    ],
    all.map(agentRow),
  );
  return `${training}\n\n${agent}\n`;
}

function trainingRow({ name, agent, memory }: Measured): string[] {
  const paces = [warmUpMs, firstPartMs].flatMap((skip) => {
    const ours = paceAfter(agent, skip);
    const theirs = memory && paceAfter(memory, skip);
    const cost = ours !== undefined && theirs !== undefined ? 100 * (1 - ours / theirs) : undefined;
    return [shown(ours, 0), shown(theirs, 0), shown(cost, 1)];
  });
  const left = agent.left.length === 0 ? 'nothing' : agent.left.join(', ');
  return [
    name,
    String(agent.exit),
    left,
    shown(firstBatch(agent), 1),
    shown(memory && firstBatch(memory), 1),
    ...paces,
  ];
}

function agentRow({ name, agent }: Measured): string[] {
  const { cpu, startedAt, endedAt, journal } = agent;
  const fetched = journal.filter((entry) => entry.kind === 'fetched');
  const gigabytes = fetched.reduce((sum, { bytes }) => sum + bytes, 0) / 1e9;
  const fetchSeconds = fetched.reduce((sum, { seconds }) => sum + seconds, 0);
  const arrivedAt = Date.parse(fetched.at(-1)?.t ?? journal[0]?.t ?? '');
  const trainedAt = Date.parse(journal.find(({ kind }) => kind === 'training-ended')?.t ?? '');
  const [total, arriving, trained] = [endedAt, arrivedAt, trainedAt].map((at) => cpuBy(cpu, at)) as [
    number,
    number,
    number,
  ];
  const rest = (trainedAt - arrivedAt) / 1000;
  return [
    name,
    shown(gigabytes, 2),
    shown((arrivedAt - startedAt) / 1000, 1),
    shown(fetchSeconds > 0 ? (gigabytes * 1000) / fetchSeconds : undefined, 0),
    shown(total, 2),
    shown(arriving, 2),
    shown(gigabytes > 0.1 ? arriving / gigabytes : undefined, 2),
    shown((100 * (trained - arriving)) / rest, 2),
    shown((100_000 * total) / (endedAt - startedAt), 1),
  ];
}

function firstBatch({ lines, startedAt }: Seen): number | undefined {
  const first = marksOf(lines)[0];
  return first && (first.at - startedAt) / 1000;
}

/** Images per second from so long after the first batch (or, of what is streamed, after the start) on. */
function paceAfter({ lines, startedAt, endedAt }: Seen, skip: number): number | undefined {
  const marks = marksOf(lines);
  const from = skip === firstPartMs ? startedAt : (marks[0]?.at ?? 0);
  return paceOf(marks, from + skip, endedAt);
}

const shown = (value: number | undefined, digits: number): string =>
  value === undefined || !Number.isFinite(value) ? '' : value.toFixed(digits);
