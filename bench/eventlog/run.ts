import { statSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { interleave, median, type Variant } from '../interleave.ts';
import { markdownTable } from '../markdown-table.ts';
import type { Cost } from '../measure.ts';
import { scratchFolder } from '../scratch.ts';
import { inPoolRoot } from './in-pool-root.ts';
import { makeLog } from './make-log.ts';

/** `node bench/eventlog/run.ts [ROUNDS [MEGABYTES [ROOT]]]`; ROOT is a Debian root folder with HTCondor, created if not given. */
const [rounds = '5', wanted = '200', root] = process.argv.slice(2);
const scratch = scratchFolder('memory');
const log = path.join(scratch, 'events.log');
const { events } = makeLog(log, Number(wanted) * 1e6);
const megabytes = statSync(log).size / 1e6;
const condor = await inPoolRoot(scratch, root);
const ours = (how: string): string[] => [
  process.execPath,
  path.join(import.meta.dirname, 'read.ts'),
  how,
  log,
];
const python = path.join(import.meta.dirname, 'read.py');
const variants: Variant[] = [
  { name: 'Updraft, `scanEventLog`', command: ours('scan') },
  { name: 'Updraft, `for await … readEventLog`', command: ours('iterate') },
  { name: 'Updraft, every detail of every event', command: ours('details') },
  { name: 'HTCondor’s Python, `JobEventLog.events`', command: [...condor, '/usr/bin/python3', python, log] },
  { name: '`condor_userlog`', command: [...condor, 'condor_userlog', log] },
  { name: '`wc -l`', command: ['wc', '-l', log] },
];

const costs = await interleave(variants, {
  rounds: Number(rounds),
  prepare: () => undefined,
  prove: () => undefined,
});
const pythonCpu = cpuOf(costs.get('HTCondor’s Python, `JobEventLog.events`') ?? []);
const rows = [...costs].map(([name, runs]) => {
  const found = /"events": ?(\d+)/.exec(runs[0]?.output ?? '')?.[1];
  if (found !== undefined && Number(found) !== events)
    throw new Error(`${name} found ${found} of ${events} events`);
  const memory = /"megabytes": ?(\d+)/.exec(runs[0]?.output ?? '')?.[1];
  const cpu = cpuOf(runs);
  const wall = median(runs.map((run) => run.wall));
  return [
    name,
    wall.toFixed(2),
    (megabytes / wall).toFixed(0),
    cpu.toFixed(2),
    (cpu / pythonCpu).toFixed(3),
    memory ?? '',
  ];
});
console.log(
  `${megabytes.toFixed(0)} MB, ${events} events, ${rounds} rounds, medians; load ${os.loadavg()[0]?.toFixed(1)}.\n`,
);
console.log(markdownTable(['', 'wall s', 'MB/s', 'CPU s', 'CPU, × Python', 'peak MB'], rows));

function cpuOf(runs: Cost[]): number {
  return median(runs.map(({ cpu }) => cpu));
}
