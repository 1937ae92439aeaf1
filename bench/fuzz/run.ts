import { spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { bunFor, type Arch } from '../../scripts/bun.ts';

/**
 * `npm run bench -- fuzz [--runtime node|bun] [--cpu SECONDS] [FILES]`: every suite that uses fast-check, again and
 * again, with random seeds, until the CPU time is used up. Prints the inputs per file; exit code 1 if one failed.
 */
interface Line {
  inputs: number;
  cpu: number;
  message?: string;
}

const root = path.resolve(import.meta.dirname, '../..');
const options = {
  runtime: { type: 'string', default: 'node' },
  cpu: { type: 'string', default: '600' },
} as const;
const { values, positionals } = parseArgs({ options, allowPositionals: true });
const folder = mkdtempSync(path.join(os.tmpdir(), 'updraft-fuzz-'));
const log = path.join(folder, 'log');
const env = { ...process.env, UPDRAFT_FUZZ_LOG: log, UPDRAFT_FUZZ_SLICE_MS: '2000', TMPDIR: folder };

const preload = path.join(import.meta.dirname, 'preload.ts');
const command =
  values.runtime === 'bun'
    ? [await bunFor(os.arch() as Arch), 'test', '--timeout=3600000', `--preload=${preload}`]
    : [process.execPath, `--import=${preload}`];

function suites(): string[] {
  const all = globSync(positionals.length > 0 ? positionals : ['{src,packages,test}/**/*.test.ts'], {
    cwd: root,
  });
  return all.filter((name) => /\bfc\.assert\b/.test(readFileSync(path.join(root, name), 'utf8'))).sort();
}

/** The lines of one run of a suite. */
function fuzz(name: string): Line[] {
  rmSync(log, { force: true });
  const [program = '', ...args] = command;
  const file = values.runtime === 'bun' ? `./${name}` : name;
  const done = spawnSync(program, [...args, file], { cwd: root, env, encoding: 'utf8', maxBuffer: 1 << 28 });
  const lines = existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : [];
  const found = lines.map((line) => JSON.parse(line) as Line);
  if (found.length === 0)
    found.push({ inputs: 0, cpu: 0, message: `no property ran:\n${done.stderr}${done.stdout}` });
  else if (done.status !== 0 && found.every(({ message }) => message === undefined))
    found.push({
      inputs: 0,
      cpu: 0,
      message: `exit ${done.status}:\n${done.stderr.slice(-4000)}${done.stdout}`,
    });
  return found;
}

const inputs = new Map<string, number>();
const failures: string[] = [];
let cpu = 0;
try {
  const names = suites();
  if (names.length === 0) throw new Error('no suite uses fast-check');
  for (let i = 0; cpu < Number(values.cpu) && failures.length < 20; i++) {
    const name = names[i % names.length] ?? '';
    const lines = fuzz(name);
    cpu += Math.max(...lines.map((line) => line.cpu), 0.1);
    inputs.set(
      name,
      lines.reduce((sum, line) => sum + line.inputs, inputs.get(name) ?? 0),
    );
    for (const { message } of lines) if (message !== undefined) failures.push(`${name}: ${message}`);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
for (const [name, count] of inputs) console.log(`${count.toLocaleString('en-US').padStart(10)}  ${name}`);
for (const failure of failures) console.log(`FAILED ${failure}`);
const total = [...inputs.values()].reduce((sum, count) => sum + count, 0);
console.log(
  `${total} inputs, ${failures.length} failures, ${cpu.toFixed(0)} s of CPU under ${values.runtime}`,
);
process.exitCode = failures.length === 0 ? 0 : 1;
