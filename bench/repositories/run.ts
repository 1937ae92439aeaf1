import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, rmSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { markdownTable } from '../markdown-table.ts';
import { scratchFolder } from '../scratch.ts';
import { type Training, trainings } from './trainings.ts';

/**
 * How many public trainings `init`, `check` and `run` start with no line changed: `init` gets the arguments that
 * somebody types, which shorten each, and the training reads small random data. `check` is wrong where it refuses one that trains. What does not train when
 * it is started by hand, in the same folder with the same Python, is no fault of Updraft.
 */
const { values } = parseArgs({
  options: {
    /** Checkouts, as OWNER+NAME; others are cloned. */
    from: { type: 'string' },
    /** The folder of the python3 to train with. */
    python: { type: 'string' },
    only: { type: 'string', multiple: true },
    'check-only': { type: 'boolean' },
    /** Starts each by hand first, and goes on with those that train. */
    'by-hand': { type: 'boolean' },
    seconds: { type: 'string', default: '90' },
  },
});
const seconds = Number(values.seconds);
const scratch = scratchFolder('disk');
const main = path.join(import.meta.dirname, '../../src/cli/main.ts');
const synthetic = path.join(import.meta.dirname, 'synthetic');
const env = {
  ...process.env,
  PATH: [values.python, process.env['PATH']].filter(Boolean).join(':'),
  PYTHONUSERBASE: path.join(scratch, 'python'),
  XDG_STATE_HOME: path.join(scratch, 'state'),
  OMP_NUM_THREADS: '1',
};

const site = spawnSync('python3', ['-m', 'site', '--user-site'], { env, encoding: 'utf8' }).stdout.trim();
cpSync(path.join(synthetic, 'usercustomize.py'), path.join(site, 'usercustomize.py'));

interface Result {
  byHand: boolean;
  init: string;
  check: string;
  run: string;
  isTrained: boolean;
}

const results: [Training, Result][] = [];
for (const one of trainings) {
  if (values.only !== undefined && !values.only.some((name) => one.repository.includes(name))) continue;
  const result = tryTraining(one);
  results.push([one, result]);
  console.error(`${one.repository} ${one.script}: init ${result.init}; check ${result.check}; ${result.run}`);
}
const trained = results.filter(([, { isTrained }]) => isTrained);
const falselyRefused = trained.filter(([, { check }]) => check.startsWith('refused'));
console.log(
  markdownTable(
    ['training', 'init', 'check', 'run'],
    results.map(([{ repository, script }, { init, check, run }]) => [
      `${repository} \`${script}\``,
      ...[init, check, run].map((cell) => cell.replaceAll('|', String.raw`\|`)),
    ]),
  ),
);
const accepted = trained.length - falselyRefused.length;
const started = values['by-hand'] === true ? results.filter(([, { byHand }]) => byHand) : results;
console.log(`\n${accepted} of ${started.length} train, ${falselyRefused.length} refused although they do`);

function tryTraining(training: Training): Result {
  const { repository, script, shorter = '', folder = '.', more = [] } = training;
  const root = path.join(scratch, repository.replace('/', '+'));
  const cwd = path.join(root, folder);
  const result: Result = { byHand: false, init: 'failed', check: '', run: '', isTrained: false };
  try {
    if (values['by-hand'] === true) {
      prepare(training, root);
      result.byHand = trainsByHand(cwd, `python3 ${script} ${shorter}`);
      rmSync(root, { recursive: true, force: true });
      if (!result.byHand) return { ...result, init: 'not tried: does not train by hand' };
    }
    prepare(training, root);
    const init = updraft(cwd, 'init', script, ...more, `--args=${shorter}`);
    if (init.status !== 0) return { ...result, init: `failed: ${lastLine(init.stderr)}` };
    result.init = 'ok';
    result.check = said(updraft(cwd, 'check', '--json').stdout);
    if (values['check-only'] === true) return result;
    return { ...result, ...runIt(cwd, result.check.startsWith('refused')) };
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

function prepare({ repository, data }: Training, root: string): void {
  copy(repository, root);
  if (data === undefined) return;
  const [kind, place] = data;
  const maker = path.join(synthetic, 'make_data.py');
  const made = spawnSync('python3', [maker, kind, path.join(root, place)], { env, encoding: 'utf8' });
  if (made.status !== 0) throw new Error(made.stderr);
}

/** One that goes on at the limit trains. */
function trainsByHand(cwd: string, command: string): boolean {
  const { status, signal } = spawnSync('sh', ['-c', command], {
    ...{ cwd, env: { ...env, MPLBACKEND: 'Agg', PYTHONPATH: '.' }, stdio: 'ignore', timeout: seconds * 1000 },
  });
  return status === 0 || signal === 'SIGTERM';
}

function copy(repository: string, to: string): void {
  const from = path.join(values.from ?? '', repository.replace('/', '+'));
  if (values.from !== undefined && existsSync(from)) {
    cpSync(from, to, { recursive: true });
    return;
  }
  const url = `https://github.com/${repository}`;
  const cloned = spawnSync('git', ['clone', '-q', '--depth', '1', url, to], { encoding: 'utf8' });
  if (cloned.status !== 0) throw new Error(cloned.stderr);
}

function updraft(cwd: string, ...words: string[]) {
  const timeout = (seconds + 30) * 1000;
  return spawnSync(process.execPath, [main, ...words], { cwd, env, encoding: 'utf8', timeout });
}

interface Finding {
  level: string;
  rule: string;
  message: string;
}

function said(json: string): string {
  const { findings } = JSON.parse(json) as { findings?: Finding[] };
  if (findings === undefined) return `refused: ${json.trim()}`;
  const errors = findings.filter(({ level }) => level === 'error');
  if (errors.length === 0) return findings.length === 0 ? 'ok' : `ok, warns: ${rulesOf(findings)}`;
  return `refused: ${errors.map(({ rule, message }) => `${rule} (${message})`).join('; ')}`;
}

function rulesOf(findings: readonly Finding[]): string {
  return [...new Set(findings.map(({ rule }) => rule))].join(', ');
}

/** A training that is refused runs, too: perhaps the refusal is wrong. One that goes on at the limit trains. */
function runIt(cwd: string, isRefused: boolean): Pick<Result, 'run' | 'isTrained'> {
  const started = updraft(cwd, 'submit', ...(isRefused ? ['--no-check'] : []));
  if (started.status !== 0) return { run: `not started: ${lastLine(started.stderr)}`, isTrained: false };
  for (let waited = 0; ; waited += 5) {
    const { jobs = [] } = JSON.parse(updraft(cwd, 'status', '--json').stdout) as State;
    const [job] = jobs;
    if (job?.status === 'ended') {
      const isTrained = job.outcome === 'success';
      return { run: isTrained ? 'trains' : whyOf(cwd), isTrained };
    }
    if (waited >= seconds) {
      const phase = job?.attempts.at(-1)?.phase ?? 'waiting';
      updraft(cwd, 'stop', '--yes');
      return {
        run: `${phase} after ${seconds} s`,
        isTrained: phase === 'training' && job?.attempts.length === 1,
      };
    }
    spawnSync('sleep', ['5']);
  }
}

interface State {
  jobs?: { status: string; outcome: string; attempts: { phase: string }[] }[];
}

function whyOf(cwd: string): string {
  const text = updraft(cwd, 'why').stdout;
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .slice(1, 8)
    .join(' ')
    .slice(0, 300);
}

function lastLine(text: string): string {
  const lines = text.trim().split('\n');
  return (lines.find((line) => line.startsWith('updraft: ')) ?? lines.at(-1) ?? '').slice(0, 240);
}
