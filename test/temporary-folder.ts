import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { TestContext } from 'node:test';

/** A folder with these files, removed when the test ends. */
export async function temporaryFolder(t: TestContext, files: Record<string, string> = {}): Promise<string> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'updraft-test-'));
  // A scheduler may still write into the folder while it is being removed.
  t.after(() => rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }));
  for (const [name, text] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
    await writeFile(path.join(folder, name), text);
  }
  return folder;
}
