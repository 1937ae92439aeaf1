import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { resultsFolder } from '../../job/layout.ts';
import { loadPlan } from '../../job/load-plan.ts';
import { startFederation, type MiniFederation } from '../../mini/federation/federation.ts';
import { runReport } from '../../report/log/read-run.ts';
import { runText } from '../../report/log/run-text.ts';
import { requestStop } from '../../run/request-stop.ts';
import type { Cli } from '../cli.ts';
import { nextCommands } from '../next-commands.ts';
import { planText } from '../plan-text.ts';
import { textPage } from '../report/report-words.ts';
import { submitPlan } from '../submit-plan.ts';
import { assertSucceeded } from '../after-failure.ts';
import { watchToEnd } from '../watch-to-end.ts';
import { demoFolder } from './demo-folder.ts';
import { progressLine } from './progress-line.ts';
import { ensureTorch } from './torch.ts';
import { readRunState } from '../../run/run-states.ts';

/** A real training, end to end: synthetic CIFAR-10 in the real format, through a local federation, on this machine. */
export async function demo(cli: Cli): Promise<void> {
  const say = progressLine(cli);
  const python = await ensureTorch({ ...cli, say });
  say(`PyTorch: ${python}`);
  say('making a learnable synthetic CIFAR-10 in the real file format ...', true);
  const { project, published, prefix } = await demoFolder(cli.cwd, python, cli.signal);
  say(`data:    ${path.join(published, 'cifar-10-python.tar.gz')}`);
  await using federation = await startFederation({
    namespaces: [{ prefix, folder: published, public: false }],
  });
  const { director, caches } = federation;
  say(`federation: director ${director.url}, ${caches.length} caches, ${prefix} behind a token\n`);
  const inside: Cli = {
    ...cli,
    cwd: project,
    env: { ...cli.env, ...(await clientSettings(federation, project)) },
  };
  say(planText(await loadPlan(project, { cwd: project })));
  await runAndTell(inside, cli);
}

/** What a user of the federation would export; the token itself stays in its file. */
async function clientSettings(federation: MiniFederation, project: string): Promise<Record<string, string>> {
  const tokenFile = path.join(project, '.token');
  await writeFile(tokenFile, `${federation.issueToken({ expiresInSeconds: 24 * 3600 })}\n`, { mode: 0o600 });
  return {
    UPDRAFT_OSDF_HOST: federation.discoveryHost,
    SSL_CERT_FILE: federation.caFile,
    BEARER_TOKEN_FILE: tokenFile,
  };
}

async function runAndTell(inside: Cli, cli: Cli): Promise<void> {
  const submitted = await submitPlan(inside, '.', { new: true });
  try {
    assertSucceeded(await watchToEnd(inside, submitted), submitted.argument);
  } finally {
    // The federation ends with this command, so a run that is left behind could not fetch.
    const state = await readRunState(submitted.folder);
    if (state.endedAt === undefined) await requestStop(submitted.folder, state, [], inside.clock);
  }
  const results = resultsFolder(submitted.folder, '0000');
  const metrics = JSON.parse(await readFile(path.join(results, 'metrics.json'), 'utf8')) as {
    accuracy: number;
  };
  const report = runReport(submitted.folder, await readRunState(submitted.folder));
  cli.out(`\n${runText(report, textPage(cli))}\n\n`);
  cli.out(`accuracy on the test batch: ${(100 * metrics.accuracy).toFixed(1)} % (chance is 10 %)\n`);
  cli.out(`model: ${path.join(results, 'cifar10_cnn.pt')}\n`);
  const where = path.relative(cli.cwd, inside.cwd);
  nextCommands(cli, [
    [`cd ${where}`, 'the job file, its run and the model are there'],
    ['npx updraft status', 'how each job stands'],
    ['npx updraft logs', 'what the training printed'],
    [
      'eval "$(npx updraft mini federation up --publish /updraft/demo=published --detach)"',
      'the federation again; then change updraft.toml, and `npx updraft run`',
    ],
  ]);
}
