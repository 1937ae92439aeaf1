import { readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import type { Evidence } from '../../adopt/evidence.ts';
import { Fault } from '../../fault/fault.ts';
import { runFiles, runsFolder } from '../../job/layout.ts';
import { openJournal } from '../../journal/file.ts';
import { condorFiles } from '../../pool/condor/condor-files.ts';
import { CondorTools } from '../../pool/condor/condor-tools.ts';
import { pluginScript } from '../../pool/condor/launcher.ts';
import { agentExecutable, placePackedAgent } from '../../pool/condor/packed-agent.ts';
import { createRun, newRunName } from '../../run/create-run.ts';
import type { Cli } from '../cli.ts';
import { additions } from './additions.ts';
import { adoptedPlan } from './adopted-plan.ts';

export interface AdoptedRun {
  run: string;
  folder: string;
  cluster: number;
}

/** The statements that will be given beside the file, for a run that is not made yet. */
export function plannedRun(
  cli: Cli,
  file: string,
  evidence: Evidence,
  withPlugin: boolean,
): { run: string; added: string[] } {
  assertCountable(file, evidence);
  const run = newRunName(adoptedPlan(file, evidence), cli.clock);
  return {
    run,
    added: additions(evidence.submission, path.join(path.dirname(file), runsFolder, run), withPlugin),
  };
}

/** Submits the file as it is, with a run's folder that `status`, `watch` and `report` understand. */
export async function submitAdopted(
  cli: Cli,
  file: string,
  evidence: Evidence,
  { run, added, withPlugin }: { run: string; added: string[]; withPlugin: boolean },
): Promise<AdoptedRun> {
  const tools = await CondorTools.find(cli.env);
  const plan = adoptedPlan(file, evidence);
  const rendered = {
    [condorFiles.submit]: await readFile(file, 'utf8'),
    ...(withPlugin ? { [condorFiles.plugin]: pluginScript } : {}),
  };
  const folder = await createRun(plan, rendered, cli.version, cli.clock, run);
  const cluster = await submit(cli, tools, file, folder, { added, withPlugin }).catch(
    async (error: unknown) => {
      // Nothing was queued, so there is no run to show.
      await rm(folder, { recursive: true, force: true });
      throw error;
    },
  );
  await using journal = await openJournal(path.join(folder, runFiles.journal), cli.clock);
  await journal.append({ kind: 'submitted', cluster });
  return { run, folder, cluster };
}

async function submit(
  cli: Cli,
  tools: CondorTools,
  file: string,
  folder: string,
  { added, withPlugin }: { added: string[]; withPlugin: boolean },
): Promise<number> {
  if (withPlugin) {
    const executable = await agentExecutable(cli.env, cli.self);
    await placePackedAgent(executable, path.join(folder, condorFiles.agent), cli.env);
  }
  const args = ['-terse', path.basename(file), ...added.flatMap((statement) => ['-append', statement])];
  const cluster = Number.parseInt(await tools.ask('condor_submit', args, path.dirname(file)), 10);
  if (!Number.isNaN(cluster)) return cluster;
  throw new Fault('pool-unreachable', 'condor_submit told no cluster', {
    fix: 'see `condor_q`',
    about: file,
  });
}

/** A run knows its jobs from the start. */
function assertCountable(file: string, { submission }: Evidence): void {
  const unknown = submission.queues.find(({ total }) => total === undefined);
  if (unknown === undefined) return;
  const name = path.basename(file);
  throw new Fault(
    'file-invalid',
    `${name}:${unknown.place.line}: how many jobs \`${unknown.text}\` makes is only known when HTCondor reads its list`,
    {
      fix: 'write the list into a file and use `queue … from FILE`, or submit it with condor_submit itself',
      about: file,
    },
  );
}
