import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Env } from '../../../base/env.ts';
import type { Plan } from '../../../job/plan.ts';
import { condorFiles } from '../condor-files.ts';
import { softwareScript } from '../../launcher.ts';
import { agentExecutable } from '../../packed-agent.ts';
import { prepareInputs } from './prepare-inputs.ts';
import type { Profile } from './profiles.ts';
import { renderOrders } from './render-orders.ts';
import { inputsOf } from './render-submit.ts';

/** What brings up the software of an interactive job: sourced, so that it is there in the shell that asked for it. */
export const softwareFile = 'software.sh';
const [script, order] = ['updraft-software', 'software.json'];

/** Puts into a folder what an interactive job needs to unpack the plan's archive of software; answers what to send. */
export async function prepareSoftware(
  folder: string,
  plan: Plan,
  profile: Profile,
  env: Env,
  self: readonly string[],
): Promise<string[]> {
  const { environment } = plan;
  if (environment?.pack === undefined) return [];
  // The agent fetches it there: no plugin is needed.
  const pack =
    environment.pack.method === 'native'
      ? environment.pack
      : { ...environment.pack, method: 'stream' as const };
  const asked: Plan = {
    ...plan,
    data: [],
    jobs: plan.jobs.slice(0, 1),
    environment: { ...environment, pack },
  };
  await prepareInputs(folder, asked, await agentExecutable(env, self), env);
  const [text = ''] = Object.values(renderOrders(asked, plan.spec.name, profile));
  await writeFile(path.join(folder, order), text);
  await writeFile(path.join(folder, script), softwareScript);
  const sourced = `updraft_script=$(sh ./${script} ${order}) && . "$updraft_script"\nunset updraft_script\n`;
  await writeFile(path.join(folder, softwareFile), sourced);
  const authority = env['SSL_CERT_FILE'] === undefined ? [] : [condorFiles.authority];
  return [condorFiles.agent, order, script, softwareFile, ...inputsOf(pack), ...authority];
}
