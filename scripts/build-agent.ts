import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { asFault } from '../src/fault/fault.ts';
import { bundleAgent, runBun } from './agent-bundle.ts';
import { archs, bunVersion, readBun, type Arch } from './bun.ts';

const dist = path.join(path.dirname(import.meta.dirname), 'dist');

/**
 * Environment variables, or prefixes of them, that make a Bun executable run other code, open a debugger, print
 * headers, turn on features or send crash reports (with whatever `curl` is in PATH). The agent must behave the same on
 * every worker, so their names are replaced by ones that no variable can have.
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
  // Files in the folder where the agent is started must not affect it.
  '--no-compile-autoload-dotenv',
  '--no-compile-autoload-bunfig',
  '--no-compile-autoload-tsconfig',
  '--no-compile-autoload-package-json',
];

/** Builds the agent for an architecture, unless `dist/` has one from the same sources; returns its path. */
export async function buildAgent(arch: Arch): Promise<string> {
  const target = path.join(dist, `updraft-agent-linux-${arch}`);
  const stamp = path.join(dist, `.updraft-agent-linux-${arch}.sha256`);
  const { code } = await bundleAgent();
  const key = createHash('sha256')
    .update(JSON.stringify([bunVersion, arch, ignoredVariables, flags, code]))
    .digest('hex');
  if (existsSync(target) && existsSync(stamp) && readFileSync(stamp, 'utf8') === key) return target;
  mkdirSync(dist, { recursive: true });
  const draft = mkdtempSync(path.join(dist, '.building-'));
  try {
    const [bundle, runtime, made] = ['agent.js', 'runtime', 'agent'].map((name) =>
      path.join(draft, name),
    ) as [string, string, string];
    writeFileSync(bundle, code);
    writeFileSync(runtime, renameVariables(await readBun(arch)), { mode: 0o755 });
    const targetFlag = `--target=bun-linux-${arch}${arch === 'x64' ? '-baseline' : ''}`;
    await runBun([...flags, targetFlag, `--compile-executable-path=${runtime}`, `--outfile=${made}`, bundle]);
    renameSync(made, target);
    writeFileSync(stamp, key);
    return target;
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

async function main(args: string[]): Promise<void> {
  const asked = args[0] === '--arch' ? args[1] : undefined;
  if ((args.length > 0 && asked === undefined) || (asked !== undefined && !archs.includes(asked as Arch)))
    throw new Error(`usage: build-agent [--arch ${archs.join('|')}]`);
  for (const arch of asked === undefined ? archs : [asked as Arch]) {
    const file = await buildAgent(arch);
    console.log(`${path.relative(process.cwd(), file)} ${(statSync(file).size / 1e6).toFixed(1)} MB`);
  }
}

if (import.meta.main) {
  try {
    await main(process.argv.slice(2));
  } catch (thrown) {
    const { message, fix } = asFault(thrown);
    console.error(`build-agent: ${message}${fix === undefined ? '' : `\n  fix: ${fix}`}`);
    process.exitCode = 1;
  }
}
