import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { systemClock } from '@updraft/base';
import { runFiles } from '@updraft/account/run-folder';
import { loadPlan } from '../../src/job/load-plan.ts';
import { openJournal } from '@updraft/account/journal';
import { condorFiles } from '../../src/pool/condor/condor-files.ts';
import { createRun } from '../../src/run/create-run.ts';
import { clusterEvents } from '../eventlog/make-log.ts';
import { scratchFolder } from '../scratch.ts';

/** `node bench/watch/run.ts [JOBS]`: cost of `status` and `watch` on a run of this many jobs in one cluster. */
const jobs = Number(process.argv[2] ?? 10_000);
const cluster = 1000;
/** Events between two refreshes. */
const burst = Math.ceil(jobs / 20);
const refreshes = 12;

const folder = path.join(scratchFolder('memory'), 'project');
mkdirSync(folder);
const job = `name = "many"\n[train]\ncommand = "true"\noutputs = ["x"]\n[run]\npool = "condor"\njobs = ${jobs}\n`;
writeFileSync(path.join(folder, 'updraft.toml'), job);
const plan = await loadPlan(folder, { cwd: folder });
const files = { [condorFiles.submit]: '' };
const run = await createRun(plan, files, '0.0.0', systemClock, 'many-1');
{
  await using journal = await openJournal(path.join(run, runFiles.journal), systemClock);
  await journal.append({ kind: 'submitted', cluster });
}
const events = [...clusterEvents(cluster, jobs)];
/** All jobs run and start to return their output; the rest is written while the run is watched. */
const before = Math.floor(events.length * 0.77);
writeFileSync(path.join(run, condorFiles.eventLog), events.slice(0, before).join(''));
for (let refreshScript = 0; refreshScript < refreshes; refreshScript += 1) {
  const from = before + refreshScript * burst;
  writeFileSync(path.join(run, `burst-${refreshScript}`), events.slice(from, from + burst).join(''));
}
process.stdout.write(`${jobs} jobs, ${before} events, then ${refreshes} times ${burst} more\n\n`);
const refreshScript = path.join(import.meta.dirname, 'refresh.ts');
execFileSync(process.execPath, [refreshScript, run, String(refreshes)], { stdio: 'inherit' });
