import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { type Env, isThere } from '@updraft/base';
import { replaceFile } from '@updraft/base/disk';
import { stateFolder } from '@updraft/base/user-folders';
import { Fault } from '@updraft/account/fault';
import type { Plan } from '../job/plan.ts';
import { findSecrets, secretFix } from '../job/secrets.ts';

/** A run's secrets: a file that only the user can read, outside the run's folder, which people share and pack. */
export const secretsFile = (env: Env, run: string): string => path.join(folderIn(env), `${run}.json`);

const folderIn = (env: Env): string => path.join(stateFolder(env), 'secrets');

export const hasSecrets = ({ spec }: Plan): boolean => Object.keys(spec.train.secrets ?? {}).length > 0;

/** Stores a run's secrets for its attempts; throws a Fault that names one that is missing. */
export async function storeSecrets(runFolder: string, plan: Plan, env: Env): Promise<void> {
  if (!hasSecrets(plan)) return;
  const file = secretsFile(env, path.basename(runFolder));
  const kept = JSON.parse(await readFile(file, 'utf8').catch(() => '{}')) as Partial<Record<string, string>>;
  const found = await findSecrets(plan, env);
  const values = found.map(({ name, value }) => [name, value ?? kept[name]] as const);
  const lacking = found.find(({ name, value }) => (value ?? kept[name]) === undefined);
  if (lacking !== undefined)
    throw new Fault('file-invalid', `the secret ${lacking.name} is not in ${lacking.from}`, {
      fix: secretFix(lacking.from),
      about: plan.file,
    });
  await mkdir(folderIn(env), { recursive: true, mode: 0o700 });
  await replaceFile(file, JSON.stringify(Object.fromEntries(values)), { mode: 0o600 });
  await writeFile(`${file}.run`, path.resolve(runFolder), { mode: 0o600 });
  await deleteOrphans(env);
}

/** For a run that has ended. */
export async function deleteSecrets(run: string, env: Env): Promise<void> {
  const file = secretsFile(env, run);
  for (const one of [file, `${file}.run`]) await rm(one, { force: true });
}

/** Deletes the secrets of runs that were removed before they ended. */
async function deleteOrphans(env: Env): Promise<void> {
  for (const name of await readdir(folderIn(env)).catch(() => [])) {
    if (!name.endsWith('.run')) continue;
    const folder = await readFile(path.join(folderIn(env), name), 'utf8').catch(() => '');
    if (folder !== '' && !(await isThere(folder))) await deleteSecrets(name.replace(/\.json\.run$/, ''), env);
  }
}
