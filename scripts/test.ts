import { globSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { run } from 'node:test';
import { gate, root, type StepResult } from './gate.ts';
import { setUp } from './set-up.ts';

/** `npm test`: set-up, the gate, every test; one summary line at the end. Arguments choose test files. */
const patterns = process.argv.slice(2);

interface Tally {
  passed: number;
  failed: string[];
  skipped: string[];
  /** Failed among the others and passed alone: the test depends on the machine's load. */
  unsteady: string[];
}

/** What one process told of the tests in its file. */
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

/** Tests that cross rooms are the long ones: they come first, and the short ones fill the gaps at the end. */
const testFiles = (): string[] =>
  globSync(
    patterns.length > 0 ? patterns : ['src/**/*.test.ts', 'test/**/*.test.ts', 'scripts/**/*.test.ts'],
    { cwd: root },
  )
    .sort((a, b) => Number(b.startsWith('test/')) - Number(a.startsWith('test/')) || (a < b ? -1 : 1))
    .map((name) => path.join(root, name));

/** Runs test files, so many at a time. */
async function runFiles(files: string[], concurrency: number): Promise<Map<string, FileResult>> {
  const results = new Map<string, FileResult>();
  const of = (file = ''): FileResult => {
    const result = results.get(file) ?? { seconds: 0, passed: 0, failed: [], skipped: [] };
    results.set(file, result);
    return result;
  };
  const tests = run({ files, concurrency, timeout: 600_000, cwd: root });
  tests.on('test:pass', ({ name, skip, todo, details, file }) => {
    if (details.type === 'suite' || name === file) return;
    if (skip !== undefined && skip !== false)
      of(file).skipped.push(`${name}: ${typeof skip === 'string' ? skip : 'no reason given'}`);
    else if (todo === undefined || todo === false) of(file).passed++;
  });
  tests.on('test:fail', ({ name, details, file }) => {
    if (details.type === 'suite') return;
    of(file).failed.push(name);
    const error: unknown = details.error.cause;
    const told = error instanceof Error ? (error.stack ?? error.message) : String(error);
    console.log(`FAILED ${placed(file, name)}\n${told}`);
  });
  tests.on('test:complete', ({ name, nesting, details, file }) => {
    // A file is told as a test, too, beside its own.
    if (nesting === 0 && name !== file) of(file).seconds += details.duration_ms / 1000;
  });
  tests.on('test:stderr', ({ message }) => process.stderr.write(message));
  await new Promise((resolve) => tests.on('end', resolve).resume());
  return results;
}

const placed = (file: string | undefined, name: string): string =>
  file === undefined || file === '' ? name : `${path.relative(root, file)}: ${name}`;

/**
 * Every test, several files at a time. A file with a failure is run once more when nothing else runs, to say whether
 * the code is broken or the test depends on the machine's load. Either fails the run.
 */
async function runTests(tally: Tally): Promise<void> {
  const first = await runFiles(testFiles(), 4);
  tellSlowest(first);
  const broken = [...first].filter(([file, { failed }]) => file !== '' && failed.length > 0);
  // Many broken files are no accident, and running them again would only take long.
  const again = broken.length <= 8 ? broken.map(([file]) => file) : [];
  const second = again.length > 0 ? await runFiles(again, 1) : new Map<string, FileResult>();
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

/** `npm test` has to stay short: these are the files to look at. */
function tellSlowest(results: Map<string, FileResult>): void {
  const slowest = [...results].sort(([, a], [, b]) => b.seconds - a.seconds).slice(0, 8);
  for (const [file, { seconds }] of slowest)
    if (seconds >= 30) console.log(`${seconds.toFixed(0).padStart(4)} s  ${path.relative(root, file)}`);
}

// Every test file is a process of its own, and so is every command under test: they share what was compiled.
process.env['NODE_COMPILE_CACHE'] = path.join(root, 'node_modules', '.cache', 'compiled');

// One pool for all tests; the module reads the variable when it is loaded.
const poolFolder = path.join(root, 'node_modules', '.cache', `test-pool-${process.pid}`);
process.env['UPDRAFT_TEST_POOL'] = poolFolder;
const { stopTestPool } = await import('../test/pool.ts');

// A scheduler or a browser may write into a test's folder once more after the test has removed it: this one goes last.
const temporary = await mkdtemp(path.join(os.tmpdir(), 'updraft-tests-'));
// Servers that give up root's rights still have to find their files there.
await chmod(temporary, 0o755);
process.env['TMPDIR'] = temporary;

const tally: Tally = { passed: 0, failed: [], skipped: [], unsteady: [] };
for (const result of await setUp(console.log)) report(tally, result);
if (patterns.length === 0) await gate((result) => report(tally, result));
await runTests(tally);
await stopTestPool(poolFolder);
await rm(temporary, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
for (const name of tally.failed) console.log(`failed: ${name}`);
for (const name of tally.unsteady) console.log(`passed only when run alone: ${name}`);
for (const name of tally.skipped) console.log(`skipped: ${name}`);
const failures = tally.failed.length + tally.unsteady.length;
console.log(
  `${tally.passed - tally.unsteady.length} passed, ${failures} failed, ${tally.skipped.length} skipped`,
);
process.exitCode = failures === 0 ? 0 : 1;
