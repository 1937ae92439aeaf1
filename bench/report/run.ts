import { statSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { inPoolRoot } from '../eventlog/in-pool-root.ts';
import { makeLog } from '../eventlog/make-log.ts';
import { interleave, median, type Variant } from '../interleave.ts';
import { markdownTable } from '../markdown-table.ts';
import { scratchFolder } from '../scratch.ts';

/** `node bench/report/run.ts [ROUNDS [MEGABYTES [ROOT]]]`; ROOT is a Debian root folder with HTCondor, created if not given. */
const [rounds = '3', wanted = '200', root] = process.argv.slice(2);
const scratch = scratchFolder('memory');
const log = path.join(scratch, 'events.log');
const { events } = makeLog(log, Number(wanted) * 1e6);
const megabytes = statSync(log).size / 1e6;
const page = path.join(scratch, 'report.html');
const reader = path.join(import.meta.dirname, '../eventlog/read.py');

// GNU time reports the peak memory of other programs.
const timed = (...command: string[]): string[] => [
  'bash',
  '-c',
  '/usr/bin/time -f "peak %M" -o "$0" "$@" && cat "$0"',
  path.join(scratch, 'peak'),
  ...command,
];
const report = (...words: string[]): string[] =>
  timed(process.execPath, path.join(import.meta.dirname, '../../src/cli/main.ts'), 'report', log, ...words);
const variants: Variant[] = [
  { name: '`updraft report --json`', command: report('--json') },
  { name: '`updraft report --html`', command: report('--html', page) },
  {
    name: 'HTCondor’s Python, reading only',
    command: timed(...(await inPoolRoot(scratch, root)), '/usr/bin/python3', reader, log),
  },
];

const costs = await interleave(variants, {
  rounds: Number(rounds),
  prepare: () => undefined,
  prove: () => undefined,
});
const rows = [...costs].map(([name, runs]) => [
  name,
  median(runs.map(({ wall }) => wall)).toFixed(1),
  median(runs.map(({ cpu }) => cpu)).toFixed(1),
  median(runs.map(({ output }) => Number(/peak (\d+)/.exec(output)?.[1] ?? NaN) / 1024)).toFixed(0),
]);
console.log(
  `${megabytes.toFixed(0)} MB, ${events} events, ${rounds} rounds, medians; load ${os.loadavg()[0]?.toFixed(1)}.\n`,
);
console.log(markdownTable(['', 'wall s', 'CPU s', 'peak MB'], rows));
