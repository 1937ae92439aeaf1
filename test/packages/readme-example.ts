import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

export const root = path.join(import.meta.dirname, '../..');

/** The example of a package's README, and what it prints. */
export function readmeExample(name: string): { code: string; prints: string } {
  const text = readFileSync(path.join(root, 'packages', name, 'README.md'), 'utf8');
  const block = (kind: string): string =>
    new RegExp(`\\n\`\`\`${kind}\\n(.*?)\`\`\`\\n`, 's').exec(text)?.[1] ?? '';
  return { code: block('js'), prints: block('text') };
}

/** Runs an example in a project of its own. */
export async function runExample(
  project: string,
  code: string,
  args: string[] = [],
  env: NodeJS.ProcessEnv = {},
): Promise<string> {
  mkdirSync(project, { recursive: true });
  const file = path.join(project, 'example.mjs');
  writeFileSync(file, code);
  const child = spawn(process.execPath, [file, ...args], {
    cwd: project,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let printed = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => void (printed += chunk.toString()));
  await new Promise((resolve) => child.on('close', resolve));
  return printed;
}
