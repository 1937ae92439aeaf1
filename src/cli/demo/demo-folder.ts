import { execFile } from 'node:child_process';
import { access, copyFile, mkdir, rename } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const example = path.join(import.meta.dirname, '../../../examples/cifar10');
const sent = ['updraft.toml', 'train.py', 'check_model.py'];

/** Where the demo's data lies, and under which prefix the local federation publishes it. */
export interface DemoFolder {
  /** A project of the user's to play with: job file and scripts. */
  project: string;
  published: string;
  prefix: string;
}

/** Lays out the example and makes its synthetic data, unless a demo before did. */
export async function demoFolder(parent: string, python: string, signal: AbortSignal): Promise<DemoFolder> {
  const project = path.join(parent, 'updraft-demo');
  const published = path.join(project, 'published');
  await mkdir(published, { recursive: true });
  for (const name of sent)
    if (!(await exists(path.join(project, name))))
      await copyFile(path.join(example, name), path.join(project, name));
  const archive = path.join(published, 'cifar-10-python.tar.gz');
  if (!(await exists(archive))) {
    await run(python, [path.join(example, 'make_data.py'), `${archive}.part`, '--images-per-batch', '1000'], {
      signal,
    });
    await rename(`${archive}.part`, archive);
  }
  return { project, published, prefix: '/updraft/demo' };
}

const exists = (file: string): Promise<boolean> =>
  access(file).then(
    () => true,
    () => false,
  );
