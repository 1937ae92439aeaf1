import { appendFileSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { systemClock } from '@updraft/base';
import { glyphsFor } from '../../src/cli/text/glyphs.ts';
import { liveView } from '../../src/cli/run-view/watch-run.ts';
import { condorFiles } from '../../src/pool/condor/condor-files.ts';
import { followRunStates } from '../../src/run/run-states.ts';
import { markdownTable } from '../markdown-table.ts';

/** `node refresh.ts RUN COUNT`: watches a run whose log grows by a burst after every refresh, and prints the cost. */
const [run = '', count = ''] = process.argv.slice(2);
const frame = { columns: 120, rows: 40, color: false, glyphs: glyphsFor({}), hint: '' };
const cpu: number[] = [];
let began = process.cpuUsage();
const signal = AbortSignal.timeout(240_000);
for await (const state of followRunStates(run, { clock: systemClock, signal })) {
  if (state.tally.running === 0) throw new Error(JSON.stringify(state.tally));
  liveView(state, { ...frame, now: systemClock.now() });
  const { user, system } = process.cpuUsage(began);
  cpu.push((user + system) / 1000);
  if (cpu.length > Number(count)) break;
  const burst = readFileSync(path.join(run, `burst-${cpu.length - 1}`));
  began = process.cpuUsage();
  appendFileSync(path.join(run, condorFiles.eventLog), burst);
}
const [first = 0, ...refreshes] = cpu;
const rows = [
  ['first refresh, start included, CPU ms', first.toFixed(0)],
  ['a refresh, CPU ms, slowest', Math.max(...refreshes).toFixed(0)],
  ['peak memory, MB', (process.resourceUsage().maxRSS / 1000).toFixed(0)],
];
process.stdout.write(`${markdownTable(['', ''], rows)}\n`);
