import { markdownTable } from '../markdown-table.ts';
import { cpuBy } from './cpu-meter.ts';
import { marksOf, paceOf } from './pace.ts';
import type { Seen, SeenWithAgent } from './with-agent.ts';

export interface Measured {
  name: string;
  agent: SeenWithAgent;
  inMemory: Seen[];
}

/** Warm-up after the first batch, and, for a training that streams, after its start. */
const [warmUpMs, firstPartMs] = [1000, 30_000];

/** The figures of all workloads as Markdown tables. */
export function showFigures(all: Measured[]): string {
  const start = markdownTable(
    ['', 'exit', 'left behind', 'training began, s', 'first batch, s', 'in memory, s'],
    all.map(startRow),
  );
  const pace = markdownTable(['images/s', 'with the agent', 'in memory', 'cost, %'], all.flatMap(paceRows));
  const agent = markdownTable(
    [
      'the agent',
      'GB',
      'arrived after s',
      'MB/s',
      'CPU s',
      'while data arrived',
      'per GB',
      'afterwards, % of a core',
      'over all, %',
    ],
    all.map(agentRow),
  );
  return [start, pace, agent].join('\n\n');
}

function startRow({ name, agent, inMemory }: Measured): string[] {
  const began = (momentOf(agent, 'training-started') - agent.startedAt) / 1000;
  const theirs = inMemory.map((seen) => shown(firstBatch(seen), 1)).join(', ');
  return [
    name,
    String(agent.exit),
    agent.left.join(', ') || 'nothing',
    shown(began, 1),
    shown(firstBatch(agent), 1),
    theirs,
  ];
}

/** Over the entire training; for one that streams, also from 30 s on: while its data arrives, and until the end. */
function paceRows({ name, agent, inMemory }: Measured): string[][] {
  if (marksOf(agent.lines).length === 0) return [];
  const arrivedAt = momentOf(agent, 'fetched');
  const row = (what: string, fromOf: (seen: Seen) => number, to = agent.endedAt): string[] => {
    const ours = paceOf(marksOf(agent.lines), fromOf(agent), to);
    const theirs = inMemory.map((seen) => paceOf(marksOf(seen.lines), fromOf(seen), seen.endedAt) ?? NaN);
    const mean = theirs.reduce((sum, each) => sum + each, 0) / theirs.length;
    const cost = ours === undefined ? undefined : 100 * (1 - ours / mean);
    return [
      `${name}, ${what}`,
      shown(ours, 0),
      theirs.map((each) => shown(each, 0)).join(', '),
      shown(cost, 1),
    ];
  };
  const rows = [
    row('from 1 s after the first batch', ({ lines }) => (marksOf(lines)[0]?.at ?? 0) + warmUpMs),
  ];
  if (arrivedAt - agent.startedAt < firstPartMs) return rows;
  const after = ({ startedAt }: Seen): number => startedAt + firstPartMs;
  return [...rows, row('from 30 s, while data arrives', after, arrivedAt), row('from 30 s', after)];
}

const momentOf = ({ journal }: SeenWithAgent, kind: string): number =>
  Date.parse(journal.findLast((entry) => entry.kind === kind)?.t ?? '');

function agentRow({ name, agent }: Measured): string[] {
  const { cpu, startedAt, endedAt, journal } = agent;
  const fetched = journal.filter((entry) => entry.kind === 'fetched');
  const gigabytes = fetched.reduce((sum, { bytes }) => sum + bytes, 0) / 1e9;
  const fetchSeconds = fetched.reduce((sum, { seconds }) => sum + seconds, 0);
  const arrivedAt = momentOf(agent, fetched.length === 0 ? 'training-started' : 'fetched');
  const trainedAt = momentOf(agent, 'training-ended');
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

const shown = (value: number | undefined, digits: number): string =>
  value === undefined || !Number.isFinite(value) ? '' : value.toFixed(digits);
