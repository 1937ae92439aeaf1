import { execFile } from 'node:child_process';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Command } from 'commander';
import { assetFile, readAsset } from '../../job/assets.ts';
import { counted, isThere } from '@updraft/base';
import { findPython, type TriedPython } from '../../environment/find-python.ts';
import { Fault } from '@updraft/account/fault';
import { resultsFolder } from '@updraft/account/run-folder';
import { loadPlan } from '../../job/load-plan.ts';
import { type MiniFederation, startFederation } from '@updraft/mini/federation';
import { runReport, runText, sections } from '@updraft/account/report';
import { requestStop, readRunState } from '../../run/run-states.ts';
import { documentText } from '@updraft/view/document';
import type { Cli } from '../cli.ts';
import { addHelp } from '../help.ts';
import { textPage } from '../report/print-report.ts';
import { assertSucceeded } from '../run-view/after-failure.ts';
import { watchToEnd } from '../run-view/watch-run.ts';
import { planPage } from '../submit/plan-text.ts';
import { submitPlan } from '../submit/submit-plan.ts';
import { nextCommands, outWidth, progressLine } from '../text/phrases.ts';
import { withSchemaHere } from '../text/schema-line.ts';

export function configure(command: Command, cli: Cli): void {
  addHelp(command, undefined, [
    'updraft demo                       # in the new folder updraft-demo',
    'cd updraft-demo && updraft report  # where its time went',
  ]).action(() => demo(cli));
}

/** A real training, end to end: synthetic CIFAR-10 in the real format, through a local federation, on this machine. */
async function demo(cli: Cli): Promise<void> {
  const say = progressLine(cli);
  const { found: python, tried } = await findPython(modules, cli.env, { signal: cli.signal });
  if (python === undefined) throw missing(tried);
  say(`PyTorch: ${python}`);
  say('generating a learnable synthetic CIFAR-10 in the real file format ...', true);
  const { project, published, prefix } = await demoFolder(cli, python);
  say(`data:    ${path.join(published, 'cifar-10-python.tar.gz')}`);
  await using federation = await startFederation({
    namespaces: [{ prefix, folder: published, public: false }],
  });
  const { director, caches } = federation;
  say(`federation: director ${director.url}, ${counted(caches.length, 'cache')}, ${prefix} behind a token`);
  const inside: Cli = {
    ...cli,
    cwd: project,
    env: { ...cli.env, ...(await clientSettings(federation, project)) },
  };
  const page = documentText(planPage(await loadPlan(project, { cwd: project })), outWidth(cli));
  cli.err(`\n${page}\n`);
  await runAndReport(inside, cli);
}

/** The variables a user of the federation would export; the token stays in its file. */
async function clientSettings(federation: MiniFederation, project: string): Promise<Record<string, string>> {
  const tokenFile = path.join(project, '.token');
  await writeFile(tokenFile, `${federation.issueToken({ expiresInSeconds: 24 * 3600 })}\n`, { mode: 0o600 });
  return {
    UPDRAFT_OSDF_HOST: federation.discoveryHost,
    SSL_CERT_FILE: federation.caFile,
    BEARER_TOKEN_FILE: tokenFile,
  };
}

async function runAndReport(inside: Cli, cli: Cli): Promise<void> {
  const submitted = await submitPlan(inside, '.', { new: true });
  try {
    assertSucceeded(await watchToEnd(inside, submitted), submitted.argument);
  } finally {
    // The federation ends with this command, so a run left behind could not fetch its data.
    const state = await readRunState(submitted.folder);
    if (state.endedAt === undefined) await requestStop(submitted.folder, state, [], inside.clock);
  }
  const results = resultsFolder(submitted.folder, '0000');
  const metrics = JSON.parse(await readFile(path.join(results, 'metrics.json'), 'utf8')) as {
    accuracy: number;
  };
  const report = runReport(submitted.folder, await readRunState(submitted.folder));
  cli.out(`\n${runText(report, sections(report), textPage(cli))}\n\n`);
  cli.out(`accuracy on the test batch: ${(100 * metrics.accuracy).toFixed(1)} % (chance is 10 %)\n`);
  cli.out(`model: ${path.join(results, 'cifar10_cnn.pt')}\n`);
  const where = path.relative(cli.cwd, inside.cwd);
  nextCommands(cli, [
    [`cd ${where}`, 'the job file, its run and the model are there'],
    ['updraft status', 'the state of each job'],
    ['updraft logs', 'what the training printed'],
    [
      'eval "$(updraft mini federation up --publish /updraft/demo=published --detach)"',
      'start the federation again; then edit updraft.toml, and `updraft run`',
    ],
  ]);
}

const modules = ['torch', 'torchvision', 'numpy'];

function missing(tried: TriedPython[]): Fault {
  const list = tried.map(({ path, lacks }) => `\n    ${path} lacks ${lacks}`).join('');
  const what = `no Python here can import torch and torchvision${list || ' (there is no python3)'}`;
  return new Fault('self-test-failed', what, {
    fix:
      'on Debian or Ubuntu: sudo apt-get install python3-torch python3-torchvision; ' +
      'elsewhere: python3 -m pip install torch torchvision numpy',
  });
}

const run = promisify(execFile);
const example = 'examples/cifar10';
const sent = ['updraft.toml', 'train.py', 'check_model.py'];

/** Where the demo's data is, and the prefix under which the local federation publishes it. */
interface DemoFolder {
  /** A project to play with: job file and scripts. */
  project: string;
  published: string;
  prefix: string;
}

/** Copies the example and generates its synthetic data, unless an earlier demo did. */
async function demoFolder({ cwd, env, signal }: Cli, python: string): Promise<DemoFolder> {
  const project = path.join(cwd, 'updraft-demo');
  const published = path.join(project, 'published');
  await mkdir(published, { recursive: true });
  for (const name of sent)
    if (!(await isThere(path.join(project, name))))
      await writeFile(
        path.join(project, name),
        await withSchemaHere((await readAsset(`${example}/${name}`)) ?? '', env),
      );
  const archive = path.join(published, 'cifar-10-python.tar.gz');
  if (!(await isThere(archive))) {
    const generator = await assetFile(`${example}/make_data.py`, project);
    await run(python, [generator, `${archive}.part`, '--images-per-batch', '1000'], { signal });
    await rename(`${archive}.part`, archive);
  }
  return { project, published, prefix: '/updraft/demo' };
}
