import os from 'node:os';
import path from 'node:path';
import { aptInstall, canInstall, ensureTorch, type Installer } from './debian.ts';
import { asFault } from '@updraft/account/fault';
import { rootFolder } from '@updraft/mini/pool';
import { findOnPath, findProgram } from '../test/servers/debian-packages.ts';
import { buildAgent } from './build-agent.ts';
import { buildExecutable } from './build-executable.ts';
import type { Arch } from './bun.ts';
import { bundlePrograms } from './bundle-programs.ts';
import type { StepResult } from './gate.ts';
import { cachedPage } from './page-bundle.ts';
import { installPythonPackages } from './python-packages.ts';

type Say = (line: string) => void;

/** Programs that tests use, and the Debian packages they come from. */
type Programs = [program: string, packages: string[]][];
const forPool: Programs = [['mmdebstrap', ['mmdebstrap']]];
const others: Programs = [
  ['nginx', ['nginx-light']],
  ['xrootd', ['xrootd-server', 'xrootd-plugins']],
  ['chromium', ['chromium']],
  ['bsdtar', ['libarchive-tools']],
];

const signal = new AbortController().signal;

/** What the tests need besides npm packages. What is unavailable is said; tests that need it are skipped. */
interface SetUp {
  /** The results of the builds: enough for the tests of single rooms. */
  built: Promise<StepResult[]>;
  /** When servers, a browser and PyTorch are there: enough for tests without a pool. */
  programs: Promise<void>;
  /** When the pool's root folder is there as well. */
  complete: Promise<void>;
}

/** Starts to prepare all of it, side by side: most of it waits for the network the first time. */
export function setUp(say: Say): SetUp {
  // The root folder takes longest, and apt-get installs one thing at a time: first what that needs.
  const forRoot = preparePrograms(say, forPool);
  const root = forRoot.then(() => prepareRoot(say));
  const programs = forRoot.then(() => prepareTorch(say)).then(() => preparePrograms(say, others));
  return { built: build(), programs, complete: Promise.all([root, programs]).then(() => undefined) };
}

async function build(): Promise<StepResult[]> {
  const arch = os.arch() as Arch;
  return [
    await step('agent for linux-x64', () => buildAgent('x64')),
    await step('agent for linux-arm64', () => buildAgent('arm64')),
    await step(`updraft as one file for linux-${arch}`, () => buildExecutable(arch)),
    await step("the dashboard's page", cachedPage),
    await step('command line and agent for Node', bundlePrograms),
  ];
}

async function preparePrograms(say: Say, programs: Programs): Promise<void> {
  const machine = machineFor(say);
  const missing = programs.filter(([program]) => findOnPath(program) === undefined);
  const packages = missing.flatMap(([, names]) => names);
  if (packages.length > 0 && (await canInstall(machine)))
    await aptInstall(machine, packages, 'programs of tests are missing').catch(() => undefined);
  for (const [program, names] of programs) {
    const found = findProgram(program, names);
    if ('file' in found) say(`${program}: ${found.file}`);
    else say(`tests with ${program} will be skipped: ${found.missing}`);
  }
}

async function prepareTorch(say: Say): Promise<void> {
  const python = await ensureTorch(machineFor(say)).catch((error: unknown) => {
    say(asFault(error).message);
  });
  if (python === undefined) {
    say('no PyTorch: tests that train will be skipped');
    return;
  }
  say(`PyTorch: ${python}`);
  await installPythonPackages(python).then(
    (folder) => say(`mypy, pyright and transformers: ${folder}`),
    (error: unknown) => say(`tests with mypy, pyright and transformers will be skipped: ${firstLine(error)}`),
  );
}

const firstLine = (error: unknown): string => asFault(error).message.split('\n', 1)[0] ?? '';

async function prepareRoot(say: Say): Promise<void> {
  const cache = process.env['XDG_CACHE_HOME'] ?? path.join(os.homedir(), '.cache');
  const cacheFolder = path.join(cache, 'updraft');
  await rootFolder({ cacheFolder, say: lasting(say), signal }).then(
    (folder) => say(`HTCondor: ${folder}`),
    (error: unknown) => say(`no HTCondor, tests on a pool will be skipped: ${asFault(error).message}`),
  );
}

const machineFor = (say: Say): Installer => ({
  env: process.env,
  uid: process.getuid?.() ?? 0,
  signal,
  say: lasting(say),
});

/** Leaves out lines that a terminal would overwrite. */
const lasting =
  (say: Say) =>
  (line: string, transient = false): void => {
    if (!transient) say(line);
  };

async function step(name: string, action: () => Promise<unknown>): Promise<StepResult> {
  try {
    await action();
    return { name, passed: true, output: '' };
  } catch (error) {
    return { name, passed: false, output: asFault(error).message };
  }
}
