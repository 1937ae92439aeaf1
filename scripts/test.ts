import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { run } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { tried } from '@updraft/base';
import { compileCache } from '../test/compile-cache.ts';
import { hangMs } from '../test/hang-limit.ts';
import { gate, root, type StepResult } from './gate.ts';
import { setUp } from './set-up.ts';
import {
  fileOf as fileOfKey,
  type FileResult,
  isUnderBun,
  keysUnderBun,
  missingSuites,
  notRunUnderBun,
  runUnderBun,
} from './under-bun.ts';

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

function report(tally: Tally, { name, passed, output }: StepResult): void {
  console.log(`${passed ? 'ok    ' : 'FAILED'} ${name}`);
  if (passed) tally.passed++;
  else {
    tally.failed.push(name);
    console.log(output.trimEnd());
  }
}

/** Files that take long, the longest first, for a machine that has not run them yet. */
const longest = [
  'examples/pool',
  'python/updraft',
  'python/ranks',
  'docs/guides',
  'adopt/advised-jobs',
  'adopt/advice',
  'examples/cifar10',
  'servers/contract',
  'condor/checkpoint',
  'catalogue/transfer',
  'catalogue/machine',
  'osg/replay',
  'slurm/run',
  'page/page',
  'dashboard/page',
  'condor/ways',
  'examples/imagenet',
  'examples/pixi',
  'condor/updraft-py',
  'condor/methods',
  'run/kill',
  'transfer/trouble-course',
  'objects/trouble',
  'install/wheel',
  'condor/kill',
  'run/retry-command',
].map((name) => `test/${name}.test.ts`);

/** The seconds that each file took in the last complete run here. */
const timesFile = path.join(root, 'node_modules', '.cache', 'test-seconds.json');

function lastTimes(): Map<string, number> {
  const text = tried(() => readFileSync(timesFile, 'utf8'));
  return new Map(text === undefined ? [] : (JSON.parse(text) as [string, number][]));
}

const isOfOneRoom = (name: string): boolean => /^(?:src|packages)\//.test(name);

/** The seconds that a file, also under Bun, took here or may take. */
function secondsOf(times: Map<string, number>, key: string): number {
  const name = path.relative(root, key);
  const at = longest.indexOf(fileOfKey(name));
  return times.get(name) ?? (at >= 0 ? 100 - at : isOfOneRoom(name) ? 1 : 10);
}

const testFiles = (): string[] =>
  globSync(
    patterns.length > 0
      ? patterns
      : ['{src,packages}/**/*.test.ts', 'test/**/*.test.ts', 'scripts/**/*.test.ts'],
    { cwd: root },
  ).map((name) => path.join(root, name));

/** What files in one process may take together: some of their tests only wait, and others could run meanwhile. */
const maxSeconds = 60;

/**
 * To load the sources takes longer than most tests, so files of a folder share processes: they change nothing that
 * belongs to the process. Longest first: a long one that starts last leaves the other cores idle.
 */
function processes(files: string[]): string[][] {
  const times = lastTimes();
  const longestFirst = files
    .map((file) => ({ file, seconds: secondsOf(times, file) }))
    .sort((a, b) => b.seconds - a.seconds || (a.file < b.file ? -1 : 1));
  const groups: { key: string; files: string[]; seconds: number }[] = [];
  for (const { file, seconds } of longestFirst) {
    const folder = path.relative(root, file).split(path.sep).slice(0, 2).join('/');
    const key = `${folder} ${isUnderBun(file)} ${stageOf(fileOfKey(file))}`;
    const group = groups.find(
      (one) => one.key === key && one.files.length < 24 && one.seconds + seconds <= maxSeconds,
    );
    if (group === undefined) groups.push({ key, files: [file], seconds });
    else {
      group.files.push(file);
      group.seconds += seconds;
    }
  }
  return groups.sort((a, b) => b.seconds - a.seconds).map((group) => group.files);
}

/** How many processes of tests run at a time: at least `min`; up to `max` as long as a core is idle. */
interface Lanes {
  min: number;
  max: number;
}

/** How far the set-up must be for a test: 0 what is built, 1 the programs too, 2 the pool's root folder as well. */
type Stage = 0 | 1 | 2;

/** Tests of one room are pure; the others may start any program, and a pool if they or their helpers import one. */
function stageOf(file: string): Stage {
  if (isOfOneRoom(path.relative(root, file))) return 0;
  return usesPool(file, new Set()) ? 2 : 1;
}

function usesPool(file: string, seen: Set<string>): boolean {
  if (file.startsWith(path.join(root, 'packages/mini/pool/'))) return true;
  if (seen.has(file) || !file.startsWith(path.join(root, 'test/'))) return false;
  seen.add(file);
  const imports = readFileSync(file, 'utf8').matchAll(/(?:from |import\()'(\.[^']+\.ts)'/g);
  return [...imports].some(([, name]) => usesPool(path.resolve(path.dirname(file), name ?? ''), seen));
}

type Preparation = Omit<ReturnType<typeof setUp>, 'built'>;

/**
 * Runs test files, several processes at a time, longest first. Many wait for a scheduler most of the time, so further
 * ones start whenever a core is idle. While the set-up goes on, only tests that need no more of it run, two at a time,
 * so that it gets its share of the cores.
 */
async function runFiles(
  files: string[][],
  { min, max }: Lanes,
  { programs, complete }: Preparation,
): Promise<Map<string, FileResult>> {
  const results = new Map<string, FileResult>();
  const waiting = files.map((group) => ({ group, stage: stageOf(fileOfKey(group[0] ?? '')) }));
  const running = new Set<Promise<void>>();
  const reached: { stage: Stage } = { stage: 0 };
  const stages = [
    programs.then(() => void (reached.stage ||= 1)),
    complete.then(() => void (reached.stage = 2)),
  ];
  const next = (): string[] | undefined => {
    const first = waiting.findIndex(({ stage }) => stage <= reached.stage);
    return first === -1 ? undefined : waiting.splice(first, 1)[0]?.group;
  };
  const start = async (group: string[]): Promise<void> => {
    for (const [file, result] of await runTogether(group)) results.set(file, result);
  };
  const hasIdleCore = idleCores();
  while (running.size > 0 || (waiting.length > 0 && !interrupted.signal.aborted)) {
    const isIdle = hasIdleCore();
    const least = reached.stage === 2 ? min : Math.min(min, 2);
    const hasRoom = running.size < least || (isIdle && running.size < max);
    const group = hasRoom && !interrupted.signal.aborted ? next() : undefined;
    if (group !== undefined) {
      const one = start(group).finally(() => running.delete(one));
      running.add(one);
    } else
      await Promise.race([
        ...running,
        ...stages.slice(reached.stage),
        sleep(1000, undefined, { ref: false }),
      ]);
  }
  return results;
}

/** A function that says whether much of a core was idle since it was last called, and memory is left for more. */
function idleCores(): () => boolean {
  const idle = (): number => os.cpus().reduce((sum, { times }) => sum + times.idle, 0);
  let [last, at] = [idle(), performance.now()];
  return () => {
    const elapsed = performance.now() - at;
    if (elapsed < 900) return false;
    const share = (idle() - last) / elapsed;
    [last, at] = [idle(), performance.now()];
    return share > 0.3 && os.freemem() > 2 * 2 ** 30;
  };
}

const runner = path.join(root, 'scripts/run-together.ts');

/** Threads that collect garbage wait for each other on busy cores: without them, tests use a sixth less CPU. */
const execArgv = ['--single-threaded-gc', '--max-semi-space-size=64'];

/** Runs the tests of files in one process. */
async function runTogether(group: string[]): Promise<Map<string, FileResult>> {
  if (group.some(isUnderBun)) return await runUnderBun(group, interrupted.signal);
  const results = new Map<string, FileResult>();
  for (const file of group) results.set(file, { seconds: 0, passed: [], failed: [], skipped: [] });
  // What is no test of one of the files is the process itself.
  const fileOf = (file: string | undefined): string =>
    file !== undefined && results.has(file) ? file : (group[0] ?? '');
  const began = performance.now();
  const one = group.length === 1 ? { files: group } : { files: [runner], argv: group };
  const tests = run({ ...one, execArgv, timeout: 1.5 * hangMs, cwd: root, signal: interrupted.signal });
  tests.on('test:pass', ({ name, nesting, skip, todo, details, file }) => {
    // Node reports a process as a test too.
    if (details.type === 'suite' || name === one.files[0]) return;
    const result = results.get(fileOf(file));
    if (nesting > 0 && result !== undefined) (result.nested ??= new Set()).add(name);
    if (skip !== undefined && skip !== false)
      result?.skipped.push(`${name}: ${typeof skip === 'string' ? skip : 'no reason given'}`);
    else if (result !== undefined && (todo === undefined || todo === false)) result.passed.push(name);
  });
  tests.on('test:fail', ({ name, details, file }) => {
    if (details.type === 'suite') return;
    results.get(fileOf(file))?.failed.push(name);
    const error: unknown = details.error.cause;
    const reported = error instanceof Error ? (error.stack ?? error.message) : String(error);
    console.log(`FAILED ${placed(fileOf(file), name)}\n${reported}`);
  });
  tests.on('test:stderr', ({ message }) => process.stderr.write(message));
  await new Promise((resolve) => tests.on('end', resolve).resume());
  const seconds = (performance.now() - began) / 1000 / group.length;
  for (const result of results.values()) result.seconds = seconds;
  return results;
}

const placed = (file: string, name: string): string => `${path.relative(root, file)}: ${name}`;

const lanes: Lanes = { min: 5, max: 6 * os.availableParallelism() };

/**
 * A real scheduler, real servers and a browser on a machine that others use: now and then one of 7,000 tests runs out
 * of time. So few that pass alone are named and counted, and do not fail the run. More are no coincidence.
 */
const maxUnsteady = 3;

/**
 * Runs every test, several files at a time. A file with a failure runs once more on its own, to show whether the code
 * is broken or the test depends on the machine's load.
 */
async function runTests(tally: Tally, preparation: Preparation): Promise<void> {
  const files = testFiles();
  const first = await runFiles(processes([...files, ...keysUnderBun(files)]), lanes, preparation);
  printSlowest(first);
  if (patterns.length === 0 && !interrupted.signal.aborted) recordTimes(first);
  const broken = [...first].filter(([, { failed }]) => failed.length > 0);
  // Many broken files are no coincidence, and running them again would take long.
  const again = broken.length <= 8 ? broken.map(([file]) => [file]) : [];
  const second = await runFiles(again, { min: 1, max: 1 }, preparation);
  const last = new Map([...first, ...second]);
  tally.failed.push(
    ...missingSuites().map((name) => `scripts/under-bun.ts names ${name}: there is no such file`),
  );
  for (const [file, result] of last) {
    const node = isUnderBun(file) ? last.get(fileOfKey(file)) : undefined;
    const missing = node === undefined ? [] : notRunUnderBun(node, result);
    tally.failed.push(...missing.map((name) => `${placed(file, name)}: ran under Node only`));
    tally.passed += result.passed.length;
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

function recordTimes(results: Map<string, FileResult>): void {
  const times = [...results].map(([file, { seconds }]) => [path.relative(root, file), seconds]);
  writeFileSync(timesFile, JSON.stringify(times));
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
const { built, ...preparation } = setUp(console.log);
// Concurrently: the first set-up mostly waits for packages, and lint, the longest step of the gate, uses one core.
const gated = patterns.length === 0 ? gate((result) => report(tally, result), interrupted.signal) : undefined;
for (const result of await built) report(tally, result);
await Promise.all([gated, preparation.complete, runTests(tally, preparation)]);
await stopTestPool(poolFolder);
await rm(temporary, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
for (const name of tally.failed) console.log(`failed: ${name}`);
for (const name of tally.unsteady) console.log(`passed only when run alone: ${name}`);
for (const name of tally.skipped) console.log(`skipped: ${name}`);
const isTooUnsteady = tally.unsteady.length > maxUnsteady;
if (isTooUnsteady) console.log(`failed: ${tally.unsteady.length} tests passed only when run alone`);
console.log(
  `${tally.passed} passed${tally.unsteady.length > 0 ? ` (${tally.unsteady.length} only when run alone)` : ''}, ` +
    `${tally.failed.length} failed, ${tally.skipped.length} skipped`,
);
const isGreen = tally.failed.length === 0 && !isTooUnsteady && !interrupted.signal.aborted;
process.exitCode = isGreen ? 0 : 1;
