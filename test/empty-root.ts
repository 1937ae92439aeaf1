import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync } from 'node:fs';
import path from 'node:path';

/** Makes a folder the root of a machine that has only the C library and a shell; the program may need no more. */
export function fillRoot(folder: string, program: string): void {
  const needed = [...new Set([...libraries(program), ...libraries('/bin/sh')])];
  const names = needed.map((file) => path.basename(file).replace(/[.-].*/, ''));
  assert.deepEqual(
    names.filter((name) => !['libc', 'libm', 'libdl', 'libpthread', 'ld'].includes(name)),
    [],
    'something other than the C library is needed',
  );
  for (const file of [...needed, '/bin/sh']) {
    mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
    copyFileSync(file, path.join(folder, file));
  }
}

/** Files that `ldd` says a program needs. */
function libraries(program: string): string[] {
  const { stdout } = spawnSync('ldd', [program], { encoding: 'utf8' });
  return [...stdout.matchAll(/(\/\S+) \(0x/g)].map((match) => match[1] ?? '');
}
