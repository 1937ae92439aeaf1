import { createHash } from 'node:crypto';
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Fault } from '../fault/fault.ts';
import type { Plan } from '../job/plan.ts';

/** Writes what a pool rendered, by path in the folder. Scripts among it can be executed. */
export async function writeRendered(folder: string, rendered: Record<string, string>): Promise<void> {
  const folders = new Set(Object.keys(rendered).map((name) => path.dirname(path.join(folder, name))));
  for (const one of folders) await mkdir(one, { recursive: true });
  for (const [name, text] of Object.entries(rendered))
    await writeFile(path.join(folder, name), text, { mode: text.startsWith('#!') ? 0o755 : 0o644 });
}

/** Copies the files that a plan sends, as they were when it was made, or not at all. */
export async function copyFiles(plan: Pick<Plan, 'files' | 'folder'>, to: string): Promise<void> {
  await mkdir(to);
  for (const file of plan.files) {
    const copy = path.join(to, file.path);
    await mkdir(path.dirname(copy), { recursive: true });
    await copyFile(path.join(plan.folder, file.path), copy);
    const sha256 = createHash('sha256')
      .update(await readFile(copy))
      .digest('hex');
    if (sha256 !== file.sha256)
      throw new Fault('file-invalid', `${file.path} changed while it was being copied`, {
        fix: 'run the same command again',
        about: file.path,
      });
  }
}
