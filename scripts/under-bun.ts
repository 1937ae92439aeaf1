import { spawn } from 'node:child_process';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { asFault, Fault } from '@updraft/account/fault';
import { bunFor, type Arch } from './bun.ts';

const root = path.dirname(import.meta.dirname);

/** The results of one test file. */
export interface FileResult {
  seconds: number;
  passed: string[];
  failed: string[];
  skipped: string[];
  /** Tests within a test: Bun runs them, and reports the outer one. */
  nested?: Set<string>;
}

/**
 * Suites that run under Node and under Bun, which agent and one-file program are compiled with: what ships is what is
 * tested. Each pattern must match a file. Tests of these suites that start the command line start the one-file program.
 */
const suites = [
  // What the command line does with objects and files; the rest of it is text, and starts the same modules.
  'src/cli/object/*.test.ts',
  'src/!(cli)/**/*.test.ts',
  // Not `mini`: the suites of objects and transfers start its federation in Bun, and need all of it to work there.
  'packages/!(mini)/**/*.test.ts',
  'test/objects/*.test.ts',
  'test/transfer/*.test.ts',
  'test/archives/*.test.ts',
  'test/eventlogs/*.test.ts',
  'test/adopt/real.test.ts',
  'test/condor/render.test.ts',
];

/** Tests that do not hold under Bun, each with a reason. One that passes must be taken off this list. */
const exceptions: Record<string, string> = {
  'packages/account/history/read-history.test.ts: while it reads a large log, Bun collects garbage':
    'pretends to be Bun by a global variable that Bun does not let anyone replace',
};

const asUnderNode = ': as under Node';
const suffix = ' under Bun';
export const isUnderBun = (key: string): boolean => key.endsWith(suffix);
/** The file of a key. */
export const fileOf = (key: string): string => (isUnderBun(key) ? key.slice(0, -suffix.length) : key);

/** The keys, under Bun, of those of the files that run there too. */
export function keysUnderBun(files: readonly string[]): string[] {
  const also = new Set(globSync(suites, { cwd: root }).map((name) => path.join(root, name)));
  return files.filter((file) => also.has(file)).map((file) => file + suffix);
}

/** Suites and exceptions that name nothing: a filter that matches nothing must not pass in silence. */
export const missingSuites = (): string[] =>
  [...suites, ...Object.keys(exceptions).map((name) => name.replace(/: .*/s, ''))].filter(
    (pattern) => globSync(pattern, { cwd: root }).length === 0,
  );

/** Runs test files in one process of Bun; every file has a result, whatever happens to the process. */
export async function runUnderBun(
  keys: readonly string[],
  signal: AbortSignal,
): Promise<Map<string, FileResult>> {
  const results = new Map<string, FileResult>();
  for (const key of keys) results.set(key, { seconds: 0, passed: [], failed: [], skipped: [] });
  const names = keys.map((key) => path.relative(root, fileOf(key)));
  const folder = mkdtempSync(path.join(os.tmpdir(), 'updraft-bun-'));
  try {
    const file = path.join(folder, 'report.xml');
    const end = await bunTest(names, file, signal);
    const report = existsSync(file) ? readFileSync(file, 'utf8') : '';
    for (const [key, result] of results) take(path.relative(root, fileOf(key)), result, { report, end });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return results;
}

/** Returns how Bun ended, and the last it printed: it explains a file that has no report. */
async function bunTest(names: readonly string[], report: string, signal: AbortSignal): Promise<string> {
  const bun = await bunFor(os.arch() as Arch).catch(asFault);
  if (bun instanceof Fault) return bun.message;
  const args = ['test', '--timeout=600000', '--reporter=junit', `--reporter-outfile=${report}`];
  // `bun test` would set another time zone.
  const env = { ...process.env, TZ: process.env['TZ'] ?? Intl.DateTimeFormat().resolvedOptions().timeZone };
  const child = spawn(bun, [...args, ...names.map((name) => `./${name}`)], {
    cwd: root,
    env,
    signal,
    timeout: 600_000,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => void (said = (said + chunk.toString()).slice(-4000)));
  return await new Promise((resolve) => {
    child.on('error', (error) => resolve(error.message));
    child.on('close', (code, killed) => resolve(`Bun ended with ${code ?? killed}\n${said}`));
  });
}

function take(name: string, result: FileResult, { report, end }: { report: string; end: string }): void {
  const suite = report.split('<testsuite ').find((part) => part.includes(` file="${name}"`)) ?? '';
  for (const [, test = '', outcome = ''] of suite.matchAll(
    /<testcase name="([^"]*)"[^>]*?(?:\/>|>(.*?)<\/testcase>)/gs,
  ))
    takeTest(name, { test: unescaped(test), outcome }, result);
  if (suite === '' || result.passed.length + result.failed.length + result.skipped.length === 0) {
    result.failed.push('runs no test');
    console.log(`FAILED ${name}${suffix}: runs no test. ${end}`);
  }
}

function takeTest(
  name: string,
  { test, outcome }: { test: string; outcome: string },
  result: FileResult,
): void {
  const reason = exceptions[`${name}: ${test}`];
  const isFailure = outcome.includes('<failure');
  if (isFailure && reason !== undefined) result.skipped.push(`${test}: ${reason}`);
  else if (outcome.includes('<skipped')) result.skipped.push(test + asUnderNode);
  else if (isFailure) {
    result.failed.push(test);
    console.log(`FAILED ${name}${suffix}: ${test}\n${unescaped(outcome.replaceAll(/<[^>]*>/g, '')).trim()}`);
  } else if (reason === undefined) result.passed.push(test);
  else result.failed.push(`${test}: passes now: take it off the exceptions in scripts/under-bun.ts`);
}

/** Tests that Node ran and Bun did not, by the results of a file. */
export function notRunUnderBun(node: FileResult, bun: FileResult): string[] {
  const left = [...bun.passed, ...bun.failed, ...bun.skipped.filter((one) => !one.endsWith(asUnderNode))];
  return [...node.passed, ...node.failed].filter((test) => {
    if (node.nested?.has(test) === true) return false;
    const at = left.findIndex((one) => one === test || one.startsWith(`${test}: `));
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
}

const entities: Record<string, string> = { quot: '"', apos: "'", lt: '<', gt: '>', amp: '&' };

const unescaped = (text: string): string =>
  text.replaceAll(/&(?:#(\d+)|(\w+));/g, (all, code: string | undefined, name: string) =>
    code === undefined ? (entities[name] ?? all) : String.fromCodePoint(Number(code)),
  );
