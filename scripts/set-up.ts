import os from 'node:os';
import path from 'node:path';
import { ensureTorch } from '../src/cli/commands/demo.ts';
import { asFault } from '../src/fault/fault.ts';
import { rootFolder } from '../src/mini/pool/root-folder.ts';
import { findProgram } from '../test/servers/debian-packages.ts';
import { buildAgent } from './build-agent.ts';
import { buildExecutable } from './build-executable.ts';
import type { Arch } from './bun.ts';
import type { StepResult } from './gate.ts';
import { cachedPage } from './page-bundle.ts';

/** Programs that tests use, and the Debian packages they come from. */
const programs: [program: string, packages: string[]][] = [
  ['mmdebstrap', ['mmdebstrap']],
  ['nginx', ['nginx-light']],
  ['xrootd', ['xrootd-server', 'xrootd-plugins']],
  ['chromium', ['chromium']],
  ['bsdtar', ['libarchive-tools']],
];

/** Prepares what the tests need besides npm packages. Reports what is unavailable; tests that need it are skipped. */
export async function setUp(say: (line: string) => void): Promise<StepResult[]> {
  const results: StepResult[] = [];
  for (const arch of ['x64', 'arm64'] as const)
    results.push(await step(`agent for linux-${arch}`, () => buildAgent(arch)));
  results.push(
    await step(`updraft as one file for linux-${os.arch()}`, () => buildExecutable(os.arch() as Arch)),
  );
  results.push(await step("the dashboard's page", cachedPage));
  const uid = process.getuid?.() ?? 0;
  const signal = new AbortController().signal;
  const lasting = (line: string, transient = false): void => {
    if (!transient) say(line);
  };
  await ensureTorch({ env: process.env, uid, signal, say: lasting }).then(
    (python) => say(`PyTorch: ${python}`),
    (error: unknown) => say(`no PyTorch, tests that train will be skipped: ${asFault(error).message}`),
  );
  for (const [program, packages] of programs) {
    const found = findProgram(program, packages);
    say(
      'file' in found
        ? `${program}: ${found.file}`
        : `tests with ${program} will be skipped: ${found.missing}`,
    );
  }
  const cacheFolder = path.join(
    process.env['XDG_CACHE_HOME'] ?? path.join(os.homedir(), '.cache'),
    'updraft',
  );
  await rootFolder({ cacheFolder, say: lasting, signal }).then(
    (folder) => say(`HTCondor: ${folder}`),
    (error: unknown) => say(`no HTCondor, tests on a pool will be skipped: ${asFault(error).message}`),
  );
  return results;
}

async function step(name: string, action: () => Promise<unknown>): Promise<StepResult> {
  try {
    await action();
    return { name, passed: true, output: '' };
  } catch (error) {
    return { name, passed: false, output: asFault(error).message };
  }
}
