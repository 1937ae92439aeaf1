import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import path from 'node:path';

/** `npm run bench -- NAME [arguments]`: runs `bench/NAME/run.ts`. */
const root = path.dirname(import.meta.dirname);
const names = globSync('bench/*/run.ts', { cwd: root }).map((file) => path.basename(path.dirname(file)));
const [name = '', ...args] = process.argv.slice(2);

if (names.includes(name)) {
  const run = path.join(root, 'bench', name, 'run.ts');
  process.exitCode = spawnSync(process.execPath, [run, ...args], { stdio: 'inherit' }).status ?? 1;
} else {
  console.error(`name a benchmark: ${names.sort().join(', ')}`);
  process.exitCode = 2;
}
