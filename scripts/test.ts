import { globSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { run } from 'node:test';
import { compileCache } from '../test/compile-cache.ts';
import { gate, root, type StepResult } from './gate.ts';
import { setUp } from './set-up.ts';

/** `npm test`: set-up, the gate, every test; one summary line at the end. Arguments choose test files. */
const patterns = process.argv.slice(2);

/** Aborted by SIGTERM or Ctrl-C: what was started must not outlive this process. */
const interrupted = new AbortController();
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => interrupted.abort());

interface Tally {
  passed: number;
  failed: string[];
  skipped: string[];
  /** Failed among the others but passed alone: the test depends on the machine's load. */
  unsteady: string[];
}

/** The results of one test file. */
interface FileResult {
  seconds: number;
  passed: number;
  failed: string[];
  skipped: string[];
}

function report(tally: Tally, { name, passed, output }: StepResult): void {
  console.log(`${passed ? 'ok    ' : 'FAILED'} ${name}`);
  if (passed) tally.passed++;
  else {
    tally.failed.push(name);
    console.log(output.trimEnd());
  }
}

/** As `printSlowest` prints them: a long file that starts last leaves the other core idle. */
const longest = [
  'examples/imagenet',
  'docs/guides',
  'examples/cifar10',
  'examples/pool',
  'examples/pixi',
  'servers/contract',
  'dashboard/page',
  'run/kill',
  'condor/ways',
  'condor/checkpoint',
  'catalogue/transfer',
  'catalogue/machine',
  'run/retry-command',
  'transfer/trouble-course',
  'contracts/condor',
  'condor/kill',
  'environment/image',
].map((name) => `test/${name}.test.ts`);

const isOfOneRoom = (name: string): boolean => name.startsWith('src/');

/** Longest first: those named above, then other tests across rooms, then those of one room. */
function testFiles(): string[] {
  const rank = (name: string): number =>
    longest.includes(name) ? longest.indexOf(name) : longest.length + Number(isOfOneRoom(name));
  return globSync(
    patterns.length > 0 ? patterns : ['src/**/*.test.ts', 'test/**/*.test.ts', 'scripts/**/*.test.ts'],
    { cwd: root },
  )
    .sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1))
    .map((name) => path.join(root, name));
}

/**
 * Runs test files, several at a time. The long ones often wait for a scheduler: meanwhile other workers start with the
 * shortest, so that no core is idle. Tests of one room need only what is built; the others wait for all of the set-up.
 */
async function runFiles(
  files: string[],
  lanes: { longest: number; shortest: number },
  complete: Promise<void>,
): Promise<Map<string, FileResult>> {
  const results = new Map<string, FileResult>();
  const waiting = [...files];
  const lane = async (next: () => string | undefined): Promise<void> => {
    for (let file = next(); file !== undefined && !interrupted.signal.aborted; file = next()) {
      if (!isOfOneRoom(path.relative(root, file))) await complete;
      results.set(file, await runFile(file));
    }
  };
  await Promise.all([
    ...Array.from({ length: lanes.longest }, () => lane(() => waiting.shift())),
    ...Array.from({ length: lanes.shortest }, () => lane(() => waiting.pop())),
  ]);
  return results;
}

async function runFile(file: string): Promise<FileResult> {
  const result: FileResult = { seconds: 0, passed: 0, failed: [], skipped: [] };
  const began = performance.now();
  const tests = run({ files: [file], timeout: 600_000, cwd: root, signal: interrupted.signal });
  tests.on('test:pass', ({ name, skip, todo, details }) => {
    // Node reports a file as a test too.
    if (details.type === 'suite' || name === file) return;
    if (skip !== undefined && skip !== false)
      result.skipped.push(`${name}: ${typeof skip === 'string' ? skip : 'no reason given'}`);
    else if (todo === undefined || todo === false) result.passed++;
  });
  tests.on('test:fail', ({ name, details }) => {
    if (details.type === 'suite') return;
    result.failed.push(name);
    const error: unknown = details.error.cause;
    const reported = error instanceof Error ? (error.stack ?? error.message) : String(error);
    console.log(`FAILED ${placed(file, name)}\n${reported}`);
  });
  tests.on('test:stderr', ({ message }) => process.stderr.write(message));
  await new Promise((resolve) => tests.on('end', resolve).resume());
  result.seconds = (performance.now() - began) / 1000;
  return result;
}

const placed = (file: string, name: string): string => `${path.relative(root, file)}: ${name}`;

/**
 * Runs every test, several files at a time. A file with a failure runs once more on its own, to show whether the code
 * is broken or the test depends on the machine's load. Either fails the run.
 */
async function runTests(tally: Tally, complete: Promise<void>): Promise<void> {
  const first = await runFiles(testFiles(), { longest: 4, shortest: 2 }, complete);
  printSlowest(first);
  const broken = [...first].filter(([, { failed }]) => failed.length > 0);
  // Many broken files are no coincidence, and running them again would take long.
  const again = broken.length <= 8 ? broken.map(([file]) => file) : [];
  const second = await runFiles(again, { longest: 1, shortest: 0 }, complete);
  for (const [file, result] of new Map([...first, ...second])) {
    tally.passed += result.passed;
    tally.failed.push(...result.failed.map((name) => placed(file, name)));
    tally.skipped.push(...result.skipped.map((name) => placed(file, name)));
    const before = second.has(file) ? (first.get(file)?.failed ?? []) : [];
    tally.unsteady.push(
      ...before.filter((name) => !result.failed.includes(name)).map((name) => placed(file, name)),
    );
  }
}

/** `npm test` has to stay short: these are the files to speed up. */
function printSlowest(results: Map<string, FileResult>): void {
  const slowest = [...results].sort(([, a], [, b]) => b.seconds - a.seconds).slice(0, 8);
  for (const [file, { seconds }] of slowest)
    if (seconds >= 30) console.log(`${seconds.toFixed(0).padStart(4)} s  ${path.relative(root, file)}`);
}

// Test files and the commands they start are separate processes: they share compiled code.
process.env['NODE_COMPILE_CACHE'] = compileCache;

// One pool for all tests; the module reads the variable when it is loaded.
const poolFolder = path.join(root, 'node_modules', '.cache', `test-pool-${process.pid}`);
process.env['UPDRAFT_TEST_POOL'] = poolFolder;
const { stopTestPool } = await import('../test/pool.ts');

// A scheduler or a browser may write into a test's folder after the test has removed it, so this folder is removed last.
const temporary = await mkdtemp(path.join(os.tmpdir(), 'updraft-tests-'));
// Servers that drop root privileges still have to read their files there.
await chmod(temporary, 0o755);
process.env['TMPDIR'] = temporary;

const tally: Tally = { passed: 0, failed: [], skipped: [], unsteady: [] };
const { built, complete } = setUp(console.log);
// Concurrently: the first set-up mostly waits for packages, and lint, the longest step of the gate, uses one core.
const gated = patterns.length === 0 ? gate((result) => report(tally, result), interrupted.signal) : undefined;
for (const result of await built) report(tally, result);
await Promise.all([gated, complete, runTests(tally, complete)]);
await stopTestPool(poolFolder);
await rm(temporary, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
for (const name of tally.failed) console.log(`failed: ${name}`);
for (const name of tally.unsteady) console.log(`passed only when run alone: ${name}`);
for (const name of tally.skipped) console.log(`skipped: ${name}`);
const failures = tally.failed.length + tally.unsteady.length;
console.log(
  `${tally.passed - tally.unsteady.length} passed, ${failures} failed, ${tally.skipped.length} skipped`,
);
process.exitCode = failures === 0 && !interrupted.signal.aborted ? 0 : 1;
