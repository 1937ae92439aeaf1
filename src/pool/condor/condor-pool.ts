import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Clock } from '../../base/clock.ts';
import type { Env } from '../../base/env.ts';
import { identifyProcess } from '../../base/process-identity.ts';
import { Fault } from '../../fault/fault.ts';
import { runFiles } from '../../job/layout.ts';
import type { Plan } from '../../job/plan.ts';
import { readJournal } from '../../journal/read-journal.ts';
import type { Pool } from '../pool.ts';
import { checkProfile } from './check-profile.ts';
import { condorFiles } from './condor-files.ts';
import { CondorTools } from './condor-tools.ts';
import { findProfile } from './find-profile.ts';
import { launcherScript, pluginScript } from './launcher.ts';
import { agentExecutable } from './packed-agent.ts';
import { condorProfiles } from './profiles.ts';
import { prepareInputs } from './prepare-inputs.ts';
import { renderOrders } from './render-orders.ts';
import { renderItems, renderSubmit } from './render-submit.ts';
import { submitOnce } from './submit-once.ts';
import { userEnvironment } from './user-environment.ts';

export interface CondorStart {
  self: readonly string[];
  env: Env;
  clock: Clock;
  pid: number;
}

/** HTCondor as a pool. Everything after the submission is the schedd's work: nothing of ours needs to run. */
export function condorPool({ self, env, clock, pid }: CondorStart): Pool {
  return {
    async check(plan) {
      const tools = await CondorTools.find(env).catch(() => undefined);
      const named = plan.spec.run.profile;
      const profile =
        tools === undefined ? condorProfiles[named ?? 'htcondor'] : await findProfile(named, tools);
      return checkProfile(plan, profile);
    },
    async render(plan, run) {
      const tools = await CondorTools.find(env);
      const [version, profile] = await Promise.all([
        tools.version(),
        findProfile(plan.spec.run.profile, tools),
      ]);
      assertAllowed(plan, checkProfile(plan, profile));
      const environment = userEnvironment(env, profile.name === 'mini');
      const submit = renderSubmit({ plan, profile, version, run, environment });
      return {
        summary: `for ${profile.title} (HTCondor ${version})`,
        files: {
          [condorFiles.submit]: submit,
          [condorFiles.items]: renderItems(plan),
          [condorFiles.launcher]: launcherScript,
          ...(submit.includes(condorFiles.plugin) ? { [condorFiles.plugin]: pluginScript } : {}),
          ...renderOrders(plan, run, profile.liveSeconds),
        },
        shown: condorFiles.submit,
      };
    },
    async submit(runFolder) {
      const tools = await CondorTools.find(env);
      const myself = identifyProcess(pid);
      if (myself === undefined) throw new Fault('pool-unreachable', 'there is no /proc on this machine');
      const plan = JSON.parse(await readFile(path.join(runFolder, runFiles.plan), 'utf8')) as Plan;
      await prepareInputs(runFolder, plan, await agentExecutable(env, self), env);
      await submitOnce(runFolder, { tools, clock, self: myself });
    },
    async stop(runFolder, jobs) {
      const tools = await CondorTools.find(env);
      const { entries } = await readJournal(path.join(runFolder, runFiles.journal));
      const cluster = entries.findLast((entry) => entry.kind === 'submitted')?.cluster;
      if (cluster === undefined) return;
      const ids = jobs.map((id) => `${cluster}.${Number.parseInt(id, 10)}`);
      await tools.ask('condor_rm', ['-reason', 'updraft stop', ...ids]).catch((error: unknown) => {
        // Those that have left the queue by themselves need no removing.
        if (!/couldn't find|not found/i.test(String(error))) throw error;
      });
    },
  };
}

function assertAllowed({ file }: Plan, findings: ReturnType<typeof checkProfile>): void {
  const error = findings.find(({ level }) => level === 'error');
  if (error === undefined) return;
  throw new Fault('file-invalid', `${file}: ${error.message}`, { fix: error.fix, about: file });
}
