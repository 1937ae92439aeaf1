import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Env } from '@updraft/base';
import { removeTree } from '@updraft/base/disk';
import { Fault } from '../../../fault/fault.ts';
import { sentAuthorities } from '@updraft/pelican/trust';
import { runFiles } from '../../../job/layout.ts';
import type { Plan } from '../../../job/plan.ts';
import { softwareScript } from '../../launcher.ts';
import { findAgent } from '../../find-agent.ts';
import { condorFiles } from '../condor-files.ts';
import { prepareInputs, renderCondorOrders } from '../submit/job-inputs.ts';
import { findProfile, type Profile } from '../submit/profiles.ts';
import { localImage, sifName } from '../submit/render-image.ts';
import { inputsOf, renderShell } from '../submit/render-submit.ts';
import { userEnvironment } from '../submit/submit-text.ts';
import { CondorTools } from './condor-tools.ts';

/** Opens a shell on a machine of the pool, with the plan's image, resources and files, on this terminal. */
export async function openShell(
  plan: Plan,
  env: Env,
  self: readonly string[],
  say: (line: string) => void,
): Promise<void> {
  if (plan.environment?.pack !== undefined)
    say(`the software is sent as an archive; in the shell, set it up with: . ./${softwareFile}`);
  const tools = await CondorTools.find(env);
  const [version, profile] = await Promise.all([tools.version(), findProfile(plan.spec.run.profile, tools)]);
  const folder = await mkdtemp(path.join(env['TMPDIR'] ?? '/tmp', 'updraft-shell-'));
  try {
    for (const file of plan.files)
      await cp(path.join(plan.folder, file.path), path.join(folder, runFiles.files, file.path));
    const image = localImage(plan);
    if (image?.endsWith('.sif') === true) {
      await mkdir(path.dirname(path.join(folder, sifName(plan))), { recursive: true });
      await symlink(image, path.join(folder, sifName(plan)));
    }
    const run = `${plan.spec.name}-shell`;
    const software = await prepareSoftware(folder, plan, profile, env, self);
    const environment = software.length === 0 ? {} : userEnvironment(env);
    const text = renderShell({ plan, profile, version, run, environment }, software);
    await writeFile(path.join(folder, 'shell.sub'), text);
    const child = spawn(tools.command('condor_submit'), ['-interactive', 'shell.sub'], {
      cwd: folder,
      env: { ...env },
      stdio: 'inherit',
    });
    const [code] = (await once(child, 'exit')) as [number | null];
    // The schedd recreates the folder if the job's last files arrive after its removal.
    await tools.ask('condor_wait', ['-wait', '30', 'shell.log'], folder).catch(() => '');
    if (code === 0) return;
    throw new Fault(
      'pool-unreachable',
      `the shell exited with ${code ?? 'a signal'}: see HTCondor's messages above`,
      { fix: 'try again, or add `requirements` in [run]: some machines do not allow interactive jobs' },
    );
  } finally {
    await removeTree(folder);
  }
}

/** Sets up the software of an interactive job; sourced, to change the user's own shell. */
const softwareFile = 'software.sh';
const [script, order] = ['updraft-software', 'software.json'];

/** Adds to a folder what an interactive job needs to unpack the plan's software; returns the files to send. */
async function prepareSoftware(
  folder: string,
  plan: Plan,
  profile: Profile,
  env: Env,
  self: readonly string[],
): Promise<string[]> {
  const { environment } = plan;
  if (environment?.pack === undefined) return [];
  // The agent fetches it on the worker: no plugin needed.
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
  await prepareInputs(folder, asked, await findAgent({ env, self }), env);
  const [text = ''] = Object.values(renderCondorOrders(asked, plan.spec.name, profile));
  await writeFile(path.join(folder, order), text);
  await writeFile(path.join(folder, script), softwareScript);
  const sourced = `updraft_script=$(sh ./${script} ${order}) && . "$updraft_script"\nunset updraft_script\n`;
  await writeFile(path.join(folder, softwareFile), sourced);
  const authority = sentAuthorities(env).length === 0 ? [] : [condorFiles.authority];
  return [condorFiles.agent, order, script, softwareFile, ...inputsOf(pack), ...authority];
}
