import path from 'node:path';
import process from 'node:process';
import { defined, type Env, systemClock, formatDuration, given } from '@updraft/base';
import type { Redact } from '@updraft/base/secrets';
import { identifyProcess } from '@updraft/base/processes';
import { asFault, Fault, kinds } from '@updraft/account/fault';
import { makeClaim } from '../job/claim.ts';
import type { WorkOrder } from '../job/job.ts';
import { attemptFiles, isFull, runFolderFull } from '@updraft/account/run-folder';
import { type AgentBody, type Journal, openAgentJournal } from '@updraft/account/journal';
import { Chirp } from './notes/chirp.ts';
import { vacateGraceMs, readAd } from './machine/machine.ts';
import { liveRecorder, JournalWriter, type Recorder } from './notes/journal-writer.ts';
import { openSharedNotes } from './notes/shared-notes.ts';
import { readOrder, readSandboxOrder, readSharedOrder } from './order/order.ts';
import { runPlugin } from './plugin/plugin.ts';
import { isPluginCall } from './plugin/plugin-args.ts';
import { nextAttempt, shellAssignments } from './next-attempt.ts';
import { runAttempt } from './run-attempt.ts';
import { Lead, Nodes } from './training/nodes.ts';
import { checkpointExit } from './training/shell.ts';
import { LogRedactor, takeSecrets, redactTexts } from './training/secrets.ts';
import type { Context } from './attempt.ts';
import { attributeOf } from '@updraft/htcondor/classad';
import { ranOutAttributes } from '@updraft/account/codes';
import { makeScratch } from './scratch.ts';
import { setUpEnvironment } from './environment/set-up-environment.ts';

/** Replaced by its value in the agent's bundle, which needs nothing else of package.json. */
declare const UPDRAFT_VERSION: string | undefined;
const version =
  typeof UPDRAFT_VERSION === 'undefined'
    ? (await import('../../package.json', { with: { type: 'json' } })).default.version
    : UPDRAFT_VERSION;

const help = `updraft-agent ${version}: runs one attempt of a job on the machine it is started on.

  updraft-agent run ORDER.json
  updraft-agent sandbox ORDER.json                     in the sandbox of an HTCondor job
  updraft-agent shared ORDER.json RUN NUMBER [NODE]    as attempt NUMBER of a run whose folder a cluster shares
  updraft-agent next POLICY JOURNAL FOLDER STATUS ASKED   decide on the next attempt
  updraft-agent software ORDER.json                    set up the software, and print how to activate it
  updraft-agent -classad | -infile FILE -outfile FILE [-upload]   as HTCondor's file-transfer plugin
  updraft-agent --version | --help
`;

/** How long the training, and then saving, may each take once the attempt must end, if the pool sets no limit. */
const defaultGraceMs = 10_000;

function createContext(): Context {
  const stop = new AbortController();
  const forceStop = new AbortController();
  let requests = 0;
  const ask = (fault: Fault, isRepeated = requests++ > 0): void => {
    if (!stop.signal.aborted) stop.abort(fault);
    else if (isRepeated) forceStop.abort();
  };
  process.on('SIGINT', () => ask(new Fault('interrupted', 'the attempt was stopped (SIGINT)')));
  const asked = (name: string): Fault =>
    new Fault('evicted', `the attempt was asked to leave the machine (${name})`);
  for (const name of ['SIGTERM', 'SIGHUP'] as const) process.on(name, () => ask(asked(name)));
  // From a script that cannot know whether its scheduler has signalled us, too.
  process.on('SIGUSR2', () => ask(asked('SIGTERM'), false));
  // A bug of ours ends the attempt like any other cause: with its clean-up.
  for (const name of ['uncaughtException', 'unhandledRejection'] as const)
    process.on(name, (error: unknown) => ask(asFault(error)));
  return {
    env: process.env,
    clock: systemClock,
    version,
    pid: process.pid,
    uid: process.getuid?.() ?? 0,
    cwd: process.cwd(),
    signal: stop.signal,
    forceStop: forceStop.signal,
    graceMs: () => vacateGraceMs(process.env) ?? defaultGraceMs,
    kill,
  };
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    // Gone, or the id is another user's by now.
    if (!['ESRCH', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
}

function sandboxContext(): Context {
  return {
    ...createContext(),
    restartFolder: process.cwd(),
    // The starter removes the sandbox, and takes the checkpoint only after we exit.
    poolCleans: 'always',
    liveLogs: { out: process.stdout.fd, err: process.stderr.fd },
  };
}

async function run(rawOrder: WorkOrder, baseContext: Context): Promise<number> {
  const { order, redact, ...secrets } = await takeSecrets(rawOrder);
  const context = { ...baseContext, secrets: secrets.values };
  const inSandbox = context.restartFolder !== undefined;
  const journal = await openAttempt(order, context);
  const writer = new JournalWriter(journal);
  const chirp = inSandbox ? await Chirp.open(context.env, context.clock) : undefined;
  const recordLive = chirp && liveRecorder(order, chirp, { ...context.clock, now: journal.now });
  const record: Recorder = (body) => {
    const shown = redactTexts(body, redact);
    writer.record(shown);
    recordLive?.(shown);
  };
  const { exit, fault, cleanUp } = await runAttempt(order, context, record, openSharedNotes(order, chirp));
  new LogRedactor(order, secrets.values).redact();
  if (exit === checkpointExit) secrets.restore();
  if (fault !== undefined) printFault(fault, redact);
  if (fault !== undefined && chirp !== undefined) await countShortage(fault, chirp, context.env);
  await cleanUp(writer.flush);
  await chirp?.close();
  if (!(await writer.close()))
    process.stderr.write('updraft-agent: the disk is full: the journal is incomplete\n');
  return exit;
}

/** Claims the attempt and opens its journal. */
async function openAttempt(order: WorkOrder, context: Context): Promise<Journal<AgentBody>> {
  const { attemptFolder: folder, job, attempt } = order;
  try {
    await claim(order, context.pid);
    const file = path.join(folder, attemptFiles.journal);
    return await openAgentJournal(file, { job: job.id, attempt }, context.clock);
  } catch (error) {
    if (!isFull(error) || context.poolCleans === 'always') throw error;
    throw runFolderFull({ what: `the attempt cannot write to ${folder}`, folder, error });
  }
}

async function runHere(file: string): Promise<number> {
  const context = createContext();
  return await run(await readOrder(path.resolve(file)), context);
}

async function runSandbox(file: string): Promise<number> {
  const context = sandboxContext();
  return await run(await readSandboxOrder(path.resolve(file), context), context);
}

async function runShared(file: string, [folder = '', number = '', at = '0']: string[]): Promise<number> {
  // The job's script removes the folder that it starts us in.
  const context: Context = { ...createContext(), poolCleans: 'when-asked' };
  const [attempt, node] = [Number(number), Number(at)];
  const order = await readSharedOrder(
    path.resolve(file),
    { run: path.resolve(folder), attempt, node },
    context,
  );
  const others = (order.resources.nodes ?? 1) - 1;
  if (others === 0) return await run(order, context);
  const link = { input: process.stdin, send: (text: string) => void process.stdout.write(text) };
  const nodes = node === 0 ? new Nodes(link, others, context.cwd) : undefined;
  const lead = nodes === undefined ? new Lead(link, node, context) : undefined;
  const signals = given(nodes?.trouble, lead?.over);
  const signal = AbortSignal.any([context.signal, ...signals]);
  return await run(order, { ...context, ...defined({ nodes, lead }), signal });
}

/** After an attempt on a cluster has ended: prints what the job's script does next. */
async function next(
  policy: string,
  [journal = '', folder = '', status = '', asked = '']: string[],
): Promise<void> {
  const ended = { policy, journal, folder, status: Number(status), isAsked: asked !== '' };
  process.stdout.write(`${shellAssignments(await nextAttempt(ended, process.env, systemClock.now()))}\n`);
}

/** For an interactive job: prints the activation script; progress goes to stderr. */
async function software(file: string): Promise<void> {
  const context = createContext();
  const order = await readSandboxOrder(path.resolve(file), context);
  const print = (line: string): void => void process.stderr.write(`${line}\n`);
  process.stdout.write(`${await openSoftware(order, context, print)}\n`);
}

/** Claims the attempt, or throws why that is impossible. */
async function claim({ attemptFolder, attempt, job }: WorkOrder, pid: number): Promise<void> {
  const me = identifyProcess(pid);
  if (me === undefined) throw new Fault('self-test-failed', '/proc cannot be read', { fix: 'mount /proc' });
  const made = await makeClaim(attemptFolder, me).catch((error: unknown) => {
    throw new Fault('order-invalid', `the attempt's folder cannot be used: ${(error as Error).message}`, {
      fix: `make sure that ${attemptFolder} exists and is writable`,
      about: attemptFolder,
      cause: error,
    });
  });
  if (made) return;
  throw new Fault('order-invalid', `attempt ${attempt} of job ${job.id} is already claimed`, {
    fix: 'start a new attempt: a claimed attempt never runs again',
    about: attemptFolder,
  });
}

/** As HTCondor's plugin; exit code 1 says that a retry is of no use. */
async function plugin(args: string[]): Promise<number> {
  const out = (text: string): void => void process.stdout.write(text);
  const print = (line: string): void => void process.stderr.write(`updraft_plugin: ${line}\n`);
  try {
    return await runPlugin(args, createContext(), { out, log: print });
  } catch (thrown) {
    printFault(asFault(thrown));
    return 1;
  }
}

async function main(args: string[]): Promise<number> {
  if (isPluginCall(process.argv0, args)) return await plugin(args);
  const [command, file, ...more] = args;
  if (command === '--version') process.stdout.write(`${version}\n`);
  else if (command === '--help') process.stdout.write(help);
  else if (command === 'run' && file !== undefined && more.length === 0) return await runHere(file);
  else if (command === 'sandbox' && file !== undefined && more.length === 0) return await runSandbox(file);
  else if (command === 'shared' && file !== undefined && [2, 3].includes(more.length))
    return await runShared(file, more);
  else if (command === 'next' && file !== undefined && more.length === 4) await next(file, more);
  else if (command === 'software' && file !== undefined && more.length === 0) await software(file);
  else throw new Fault('usage', `unknown arguments: ${args.join(' ')}`, { fix: 'see updraft-agent --help' });
  return 0;
}

function printFault({ message, fix }: Fault, redact: Redact = (text) => text): void {
  process.stderr.write(redact(`updraft-agent: ${message}\n`));
  if (fix !== undefined) process.stderr.write(redact(`  fix: ${fix}\n`));
}

// Whoever started us may be gone by the time there is something to print.
process.stderr.on('error', () => undefined);

/** Exits even if a forgotten socket or timer is still open: it must not hold the slot. */
async function end(): Promise<never> {
  try {
    process.exit(await main(process.argv.slice(2)));
  } catch (thrown) {
    const fault = asFault(thrown);
    printFault(fault);
    process.exit(kinds[fault.kind].exit);
  }
}

await end();

/** Counts, in the job's own ad, an attempt that ran out of memory or disk: the request grows with the count. */
async function countShortage(fault: Fault, chirp: Chirp, env: Env): Promise<void> {
  const name = (ranOutAttributes as Partial<Record<string, string>>)[fault.kind];
  if (name === undefined) return;
  const before = attributeOf(readAd(env, '_CONDOR_JOB_AD'), name);
  await chirp.ask(['set_job_attr', name, String((typeof before === 'number' ? before : 0) + 1)]);
}

/** Sets up an order's software for an interactive job; returns the script that activates it. */
async function openSoftware(
  order: WorkOrder,
  context: Context,
  print: (line: string) => void,
): Promise<string> {
  const scratch = makeScratch(order);
  const record: Recorder = (body) => {
    if (body.kind === 'phase') print(`${body.phase} the software`);
    if (body.kind === 'environment-ready')
      print(`the software is ready after ${formatDuration(Math.ceil(body.seconds))}`);
  };
  await setUpEnvironment({
    // In an interactive job the training's files are in the job's own folder.
    order: { ...order, filesFrom: context.cwd },
    scratch,
    context,
    record,
    shared: openSharedNotes(order, undefined),
  });
  return path.join(scratch.root, 'software', 'activate.sh');
}
