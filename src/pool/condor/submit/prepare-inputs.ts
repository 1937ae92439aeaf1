import { mkdir, rm, symlink } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Env } from '../../../base/env.ts';
import { runFiles, sandboxFiles } from '../../../job/layout.ts';
import { fetchedBy, type Plan } from '../../../job/plan.ts';
import { condorFiles } from '../condor-files.ts';
import { placePackedAgent } from '../../packed-agent.ts';
import { localImage, sifName } from './render-image.ts';
import { nativeName, tokenName } from './render-orders.ts';

/** Puts into a run's folder what its submit description names and is no text: harmless when it is there already. */
export async function prepareInputs(
  runFolder: string,
  plan: Plan,
  executable: string,
  env: Env,
): Promise<void> {
  const inRun = (name: string): string => path.join(runFolder, name);
  await mkdir(inRun(condorFiles.said), { recursive: true });
  await mkdir(inRun(condorFiles.inputs), { recursive: true });
  await placePackedAgent(executable, inRun(condorFiles.agent), env);
  for (const source of fetchedBy(plan)) {
    if (source.method === 'native') await linkTo(fileURLToPath(source.url), inRun(nativeName(source)));
    if (source.tokenFile !== undefined)
      await linkTo(source.tokenFile, path.join(inRun(condorFiles.inputs), tokenName(source)));
  }
  const authority = env['SSL_CERT_FILE'];
  if (authority !== undefined) await linkTo(path.resolve(authority), inRun(condorFiles.authority));
  const image = localImage(plan);
  if (image?.endsWith('.sif') === true) await linkTo(image, inRun(sifName));
  if (plan.spec.train.checkpoint !== undefined)
    for (const { id } of plan.jobs)
      await mkdir(path.join(inRun(runFiles.jobs), id, sandboxFiles.checkpoint), { recursive: true });
}

/** HTCondor sends what a link points to; its own name need not be one that a submit description can hold. */
async function linkTo(file: string, name: string): Promise<void> {
  await rm(name, { force: true });
  await symlink(file, name);
}
