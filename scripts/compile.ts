import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { runBun } from './agent-bundle.ts';
import { type Arch, bunVersion, readBun } from './bun.ts';

export const root = path.dirname(import.meta.dirname);
export const dist = path.join(root, 'dist');

/**
 * Environment variables, or prefixes of them, that make a Bun executable run other code, open a debugger, print
 * headers, turn on features or send crash reports (with whatever `curl` is in PATH). Our executables must behave the
 * same on every machine, so their names are replaced by ones that no variable can have.
 */
const ignoredVariables = [
  'BUN_OPTIONS',
  'BUN_BE_BUN',
  'BUN_INSPECT',
  'BUN_CONFIG_VERBOSE_FETCH',
  'BUN_ENABLE_CRASH_REPORTING',
  'BUN_CRASH_REPORT_URL',
  'BUN_FEATURE_FLAG_',
  'BUN_DEBUG_',
];

const flags = [
  '--compile',
  // Files in the folder where the executable is started must not affect it.
  '--no-compile-autoload-dotenv',
  '--no-compile-autoload-bunfig',
  '--no-compile-autoload-tsconfig',
  '--no-compile-autoload-package-json',
];

/** Makes `dist/NAME`, unless the one there was made from the same parts; returns its path. */
export async function makeOnce(name: string, parts: unknown, make: () => Promise<void>): Promise<string> {
  const [target, stamp] = [path.join(dist, name), path.join(dist, `.${name}.sha256`)];
  const key = createHash('sha256')
    .update(JSON.stringify([bunVersion, ignoredVariables, flags, parts]))
    .digest('hex');
  if (existsSync(target) && existsSync(stamp) && readFileSync(stamp, 'utf8') === key) return target;
  await make();
  writeFileSync(stamp, key);
  return target;
}

interface Compilation {
  arch: Arch;
  /** The first module, and texts to put beside it. */
  main: string;
  files: Record<string, string>;
  flags?: string[];
}

/** Compiles modules into `dist/NAME`, an executable that needs only glibc. */
export async function compile(name: string, { arch, main, files, ...more }: Compilation): Promise<void> {
  mkdirSync(dist, { recursive: true });
  const draft = mkdtempSync(path.join(dist, '.building-'));
  try {
    const [made, runtime] = [path.join(draft, 'made'), path.join(draft, 'runtime')];
    for (const [file, text] of Object.entries(files)) writeFileSync(path.join(draft, file), text);
    writeFileSync(runtime, renameVariables(await readBun(arch)), { mode: 0o755 });
    const target = `--target=bun-linux-${arch}${arch === 'x64' ? '-baseline' : ''}`;
    const paths = [`--compile-executable-path=${runtime}`, `--outfile=${made}`, path.join(draft, main)];
    // There, so that the draft's name is not in the executable: the same sources give the same bytes.
    await runBun([...flags, ...(more.flags ?? []), target, ...paths], draft);
    renameSync(made, path.join(dist, name));
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

/** Renames the variables in place; a name that starts with `=` cannot be set from a shell or a pool. */
function renameVariables(program: Buffer): Buffer {
  for (const name of ignoredVariables) {
    let found = 0;
    for (let at = program.indexOf(name); at >= 0; at = program.indexOf(name, at + 1), found++)
      program[at] = 0x3d;
    if (found === 0)
      throw new Error(`${name} is not in Bun ${bunVersion}: check which variables it reads now`);
  }
  return program;
}
