// Plain JavaScript for any Node from 20 on: installs what is missing, once, and hands over to the pinned Node 24,
// which runs the TypeScript sources directly.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import * as nodeModule from 'node:module';
import { constants, homedir } from 'node:os';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const lockFile = path.join(root, 'package-lock.json');
const stampFile = path.join(root, 'node_modules', '.updraft-installed');

/** Each is a list of steps; the last one gets the arguments. */
const entries = {
  cli: [['src/cli/main.ts']],
  demo: [
    ['scripts/ensure-torch.ts'],
    ['scripts/build-agent.ts', '--arch', process.arch],
    ['bin/updraft.mjs', 'demo'],
  ],
  test: [['scripts/test.ts']],
  check: [['scripts/check.ts']],
  build: [['scripts/build.ts']],
  'build-agent': [['scripts/build-agent.ts']],
  'build-page': [['scripts/build-page.ts']],
  schema: [['scripts/write-schema.ts']],
  licenses: [['scripts/write-licenses.ts']],
  docs: [['scripts/write-docs.ts']],
  pictures: [['scripts/write-pictures.ts']],
  bench: [['scripts/bench.ts']],
  'osg-log': [['scripts/osg-log.ts']],
  'build-package': [['scripts/build-package.ts']],
};

/** Runs one of the project's programs and returns its exit code. */
export async function launch(name, args) {
  const steps = entries[name];
  if (steps === undefined) return fail(`unknown program "${name}"`);
  const problem = install();
  if (problem !== undefined) return fail(problem);
  const node = pinnedNode();
  if (node === undefined)
    return fail(
      `there is no Node 24 for ${process.platform}-${process.arch}; install Node 24 or newer yourself`,
    );
  if (name === 'cli') return await runCli(node, args);
  for (const [program, ...fixed] of steps.slice(0, -1)) {
    const code = await run(node, [programFile(program), ...fixed]);
    if (code !== 0) return code;
  }
  const [program, ...fixed] = steps.at(-1);
  return await run(node, [programFile(program), ...fixed, ...args]);
}

/** In this process, if its Node is new enough: another process would double the start time of a command. */
async function runCli(node, args) {
  const [major, minor] = process.versions.node.split('.').map(Number);
  const isSuited = node === process.execPath || (major === 24 && minor >= 12);
  if (!isSuited) return await run(node, [path.join(root, 'bin', 'updraft.mjs'), ...args]);
  // As main.ts does, but before it is loaded: stripping its types takes half of a start.
  const given = process.env.XDG_CACHE_HOME ?? '';
  const base = path.isAbsolute(given) ? given : path.join(homedir(), '.cache');
  nodeModule.enableCompileCache(path.join(base, 'updraft', 'node'));
  await import(pathToFileURL(programFile(entries.cli[0][0])).href);
  return process.exitCode ?? 0;
}

function fail(message) {
  process.stderr.write(`updraft: ${message}\n`);
  return 4;
}

/** Identifies an installation: from which lock file, for which architecture. */
function stamp() {
  const hash = createHash('sha256').update(readFileSync(lockFile)).digest('hex');
  return `${hash} ${process.platform}-${process.arch}\n`;
}

function install() {
  if (!existsSync(lockFile)) return undefined; // an installed package: npm has installed everything
  const wanted = stamp();
  if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === wanted) return undefined;
  process.stderr.write('updraft: installing dependencies and Node 24 (once) ...\n');
  const npm = process.env.npm_execpath;
  const command = npm?.endsWith('.js') ? [process.execPath, npm] : ['npm'];
  // No dependency needs an install script, so none may run.
  const flags = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const done = spawnSync(command[0], [...command.slice(1), ...flags], { cwd: root, stdio: ['ignore', 2, 2] });
  if (done.error !== undefined) return `npm could not be started: ${done.error.message}`;
  if (done.status !== 0) return `npm ci failed; run it by hand in ${root} to see why`;
  writeFileSync(stampFile, wanted);
  return undefined;
}

/** Node strips no types below `node_modules`, so an installed package has JavaScript programs. */
function programFile(program) {
  const isCheckout = existsSync(lockFile);
  return path.join(root, isCheckout ? program : program.replace(/^src/, 'lib').replace(/\.ts$/, '.js'));
}

/** In `node_modules` of a checkout; for a package, npm may have put it further up. */
function pinnedNode() {
  const name = path.join('node_modules', `node-${process.platform}-${process.arch}`, 'bin', 'node');
  for (let folder = root; folder !== path.dirname(folder); folder = path.dirname(folder))
    if (existsSync(path.join(folder, name))) return path.join(folder, name);
  return Number(process.versions.node.split('.')[0]) >= 24 ? process.execPath : undefined;
}

function run(command, args) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio: 'inherit' });
    // The terminal sends Ctrl-C to the child too; we only have to outlive it. Other signals are forwarded.
    process.on('SIGINT', () => undefined);
    for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
    child.on('error', (error) => resolve(fail(`cannot start ${command}: ${error.message}`)));
    child.on('exit', (code, signal) => resolve(code ?? 128 + (constants.signals[signal] ?? 0)));
  });
}
