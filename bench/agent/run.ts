import os from 'node:os';
import path from 'node:path';
import { interleave, median } from '../interleave.ts';
import { markdownTable } from '../markdown-table.ts';

/** `node bench/agent/run.ts [ROUNDS]`: cost of starting the executables that `npm run build` makes. */
const [rounds = '20'] = process.argv.slice(2);
const project = path.join(import.meta.dirname, '../..');
const agent = path.join(project, `dist/updraft-agent-linux-${process.arch}`);
const updraft = path.join(project, `dist/updraft-linux-${process.arch}`);
const costs = await interleave(
  [
    { name: '`updraft-agent --version`', command: [agent, '--version'] },
    { name: '`updraft --version`, one file', command: [updraft, '--version'] },
    {
      name: '`updraft status`, one file',
      command: [updraft, 'status', path.join(project, 'test/journals/retry-then-failure')],
    },
    { name: '`node -e 0`', command: [process.execPath, '-e', '0'] },
    { name: '`python3 -c 0`', command: ['python3', '-c', '0'] },
  ],
  { rounds: Number(rounds), prepare: () => undefined, prove: () => undefined },
);
const rows = [...costs].map(([name, runs]) => [
  name,
  median(runs.map(({ wall }) => wall * 1000)).toFixed(0),
  median(runs.map(({ cpu }) => cpu * 1000)).toFixed(0),
]);
console.log(`${rounds} rounds, medians; load ${os.loadavg()[0]?.toFixed(1)}.\n`);
console.log(markdownTable(['', 'wall ms', 'CPU ms'], rows));
