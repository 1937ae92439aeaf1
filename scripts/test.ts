import { globSync } from 'node:fs';
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
}

function report(tally: Tally, { name, passed, output }: StepResult): void {
  console.log(`${passed ? 'ok    ' : 'FAILED'} ${name}`);
  if (passed) tally.passed++;
  else {
    tally.failed.push(name);
    console.log(output.trimEnd());
  }
}

function runTests(tally: Tally): Promise<void> {
  const files = globSync(
    patterns.length > 0 ? patterns : ['src/**/*.test.ts', 'test/**/*.test.ts', 'scripts/**/*.test.ts'],
    { cwd: root },
  )
    .map((name) => path.join(root, name))
    .sort();
  const tests = run({ files, concurrency: 3, timeout: 600_000, cwd: root });
  tests.on('test:pass', ({ name, skip, todo, details, file }) => {
    if (details.type === 'suite' || name === file) return;
    if (skip !== undefined && skip !== false)
      tally.skipped.push(`${place(file)}${name}: ${typeof skip === 'string' ? skip : 'no reason given'}`);
    else if (todo === undefined || todo === false) tally.passed++;
  });
  tests.on('test:fail', ({ name, details, file }) => {
    if (details.type === 'suite') return;
    tally.failed.push(`${place(file)}${name}`);
    const error: unknown = details.error.cause;
    console.log(
      `FAILED ${place(file)}${name}\n${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
    );
  });
  tests.on('test:stderr', ({ message }) => process.stderr.write(message));
  return new Promise((resolve) => tests.on('end', resolve).resume());
}

const place = (file: string | undefined): string =>
  file === undefined ? '' : `${path.relative(root, file)}: `;

// One pool for all tests; the module reads the variable when it is loaded.
const poolFolder = path.join(root, 'node_modules', '.cache', `test-pool-${process.pid}`);
process.env['UPDRAFT_TEST_POOL'] = poolFolder;
const { stopTestPool } = await import('../test/pool.ts');

const tally: Tally = { passed: 0, failed: [], skipped: [] };
for (const result of await setUp(console.log)) report(tally, result);
if (patterns.length === 0) await gate((result) => report(tally, result));
await runTests(tally);
await stopTestPool(poolFolder);
for (const name of tally.failed) console.log(`failed: ${name}`);
for (const name of tally.skipped) console.log(`skipped: ${name}`);
console.log(`${tally.passed} passed, ${tally.failed.length} failed, ${tally.skipped.length} skipped`);
process.exitCode = tally.failed.length === 0 ? 0 : 1;
