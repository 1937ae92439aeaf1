import path from 'node:path';
import { counted, findProgram, firstFew, isThere, shellQuote } from '@updraft/base';
import { documentText } from '@updraft/view/document';
import { Fault, usageFault } from '@updraft/account/fault';
import { runFiles } from '@updraft/account/run-folder';
import { loadJobFile } from '../../job/load-plan.ts';
import type { Plan } from '../../job/plan.ts';
import { variantsOf } from '../../job/variants.ts';
import { openPool } from '../../pool/open-pool.ts';
import { type Pool, readPlan } from '../../pool/pool.ts';
import { readRunState } from '../../run/run-states.ts';
import {
  type EarlierRun,
  type EarlierRuns,
  findEarlier,
  resumeRun,
  submitRun,
  type Submitted,
  whatChanged,
} from '../../run/submit-run.ts';
import { checkPlan } from '../../preflight/check-plan.ts';
import type { Cli } from '../cli.ts';
import { runTool } from '../environment/workspace.ts';
import { type JobFileOptions, jobFileArgument, loadOptions } from '../job-file-argument.ts';
import { countFindings, findingsPage } from '../text/findings-page.ts';
import { askYesNo, nextCommands } from '../text/phrases.ts';
import { describeFallback } from './plan-text.ts';
import { existsSync } from 'node:fs';
import { byJobFile, preferCaches } from '@updraft/pelican/federation';
import { cachesOf } from '../../job/caches.ts';
import { poolTraits } from '../../job/pool-traits.ts';
import { cachedImage } from '../../pool/image-command.ts';
import { openFederation, warnOfTrust } from '../object/access.ts';
import { TransferBoard, boardMode } from '../object/board.ts';
import { fetchItem } from '../object/fetch-item.ts';
import { printResult } from '../object/print-results.ts';

export interface SubmitCliOptions extends JobFileOptions {
  new?: true;
  /** Sizes of the canary batches. */
  canary?: number[];
  /** False to skip the quick check. */
  check?: boolean;
}

/** A run that was submitted, and how a command line names it. */
export interface SubmittedRun extends Submitted {
  /** Quoted for a shell. */
  argument: string;
  pool: Pool;
}

/**
 * Submits a job file to its pool, or resumes the run in the given folder, and prints on stderr what was done and why.
 */
export async function submitPlan(cli: Cli, where: string, options: SubmitCliOptions): Promise<SubmittedRun> {
  const folder = path.resolve(cli.cwd, where);
  const isRun = await isThere(path.join(folder, runFiles.journal));
  const { pool, ...submitted } = isRun
    ? await resume(cli, folder, options)
    : await submit(cli, where, options);
  cli.err(`${submittedText[submitted.how]} ${path.basename(submitted.folder)}: ${submitted.why}\n`);
  return { ...submitted, argument: argumentFor(cli.cwd, submitted.folder), pool };
}

async function submit(
  cli: Cli,
  where: string,
  options: SubmitCliOptions,
): Promise<Submitted & { pool: Pool }> {
  const job = await loadLocked(cli, where, options);
  const { plan } = job;
  const pool = openPool(plan.spec.run.pool, cli);
  const { version, clock, pid, signal } = cli;
  const { new: isNew = false, canary } = options;
  const { same, newest } = isNew ? noRuns : await findEarlier(plan);
  if (same === undefined && newest?.isEnded === false) await confirmSecondRun(cli, plan, newest);
  warnOfTrust(cli);
  // A resumed run was checked when it was created.
  if (same === undefined && options.check !== false)
    await checkBeforeSubmit(cli, jobFileArgument(where, options), job);
  if (pool.traits.needsImageHere) for (const one of variantsOf(plan)) await fetchImage(cli, one);
  const say = (line: string): void => cli.err(`${line}\n`);
  const context = { version, clock, pid, signal, say };
  return { ...(await submitRun(plan, pool, { isNew, canary, ...context })), pool };
}

const noRuns: EarlierRuns = { same: undefined, newest: undefined };

/** The quick check before a new run is created: refuses what would surely fail, and only mentions the rest. */
async function checkBeforeSubmit(
  cli: Cli,
  words: string,
  job: Awaited<ReturnType<typeof loadJobFile>>,
): Promise<void> {
  const { findings } = await checkPlan(cli, job, { quick: true });
  const errors = findings.filter(({ level }) => level === 'error');
  const rest = findings.filter(({ level }) => level === 'warning');
  if (errors.length > 0) {
    cli.err(documentText(findingsPage(errors), Infinity));
    // A missing secret cannot be sent to the jobs, checked or not.
    const mayQueue = !errors.some(({ rule }) => rule === 'secret-missing');
    const { file } = job.plan;
    throw new Fault('file-invalid', `${file}: ${counted(errors.length, 'error')}; nothing was queued`, {
      fix:
        `apply the ${errors.length === 1 ? 'fix' : 'fixes'} ` +
        `above${mayQueue ? ', or submit anyway with --no-check' : ''}`,
      about: file,
    });
  }
  const them = rest.length === 1 ? 'it' : 'them';
  if (rest.length > 0) cli.err(`${countFindings(rest)}; \`updraft check${words}\` lists ${them}\n`);
}

/** Asks before a changed job file starts a run beside one that has not ended; throws unless the user agrees. */
async function confirmSecondRun(cli: Cli, plan: Plan, newest: EarlierRun): Promise<void> {
  const run = path.basename(newest.folder);
  const older =
    `${run} has not ended, and these changed since it was started: ` +
    firstFew(whatChanged(newest.plan, plan), 3);
  const agreed = await askYesNo(cli, `${older}. Start a second run beside it?`);
  if (agreed === true) return;
  throw usageFault(
    agreed === false ? 'nothing was started' : older,
    `add --new to start a second run beside it; \`updraft watch ${run}\` shows it, ` +
      `\`updraft stop ${run}\` ends it`,
    run,
  );
}

/** Reads a job file; if its Pixi environment is optional and not locked, Pixi locks it first where it can. */
export async function loadLocked(
  cli: Cli,
  where: string,
  options: JobFileOptions,
): ReturnType<typeof loadJobFile> {
  const load = loadOptions(cli, options);
  const job = await loadJobFile(where, load);
  const { fallback } = job.plan.environment ?? {};
  if (fallback === undefined) return job;
  const pixi = await findProgram(['pixi'], cli.env);
  if (pixi !== undefined && fallback.unlocked !== undefined)
    try {
      await runTool(cli, pixi, ['lock', '--manifest-path', fallback.unlocked]);
      return await loadJobFile(where, load);
    } catch (thrown) {
      if (!(thrown instanceof Fault) || thrown.kind !== 'environment-broken') throw thrown;
    }
  cli.err(`running with ${describeFallback(fallback)}\n`);
  return job;
}

async function resume(
  cli: Cli,
  folder: string,
  options: SubmitCliOptions,
): Promise<Submitted & { pool: Pool }> {
  const { file, spec } = await readPlan(folder);
  if (options.new)
    throw usageFault(
      `${folder} is a run; --new starts another one from a job file`,
      `updraft submit --new ${shellQuote(file)}`,
    );
  const pool = openPool(spec.run.pool, cli);
  return { ...(await resumeRun(folder, pool, cli)), pool };
}

const submittedText = { created: 'started', continued: 'resuming', finished: 'already finished:' } as const;

/** A run's name is enough where `runs/` is found from here; elsewhere its path is needed. */
function argumentFor(cwd: string, folder: string): string {
  const home = path.dirname(path.dirname(folder));
  const isAbove = `${cwd}/`.startsWith(home.endsWith('/') ? home : `${home}/`);
  return shellQuote(isAbove ? path.basename(folder) : path.relative(cwd, folder));
}

/** Prints the run's folder, or with `json` the run, and what to do next. */
export async function printSubmitted(
  cli: Cli,
  { folder, how, why, argument }: SubmittedRun,
  words: string,
  json: boolean,
): Promise<void> {
  const { tally } = await readRunState(folder);
  const run = path.basename(folder);
  cli.out(json ? `${JSON.stringify({ run, folder, how, why, tally })}\n` : `${folder}\n`);
  nextCommands(cli, [
    [`updraft watch ${argument}`, 'watch it live'],
    [`updraft status ${argument}`, 'the state of each job'],
    how === 'finished'
      ? [newRun('submit', words), 'start another run']
      : [`updraft stop ${argument}`, 'stop it'],
  ]);
}

/** The command that starts another run of the same job file. */
export const newRun = (command: string, words: string): string => `updraft ${command} --new${words}`;

/** Downloads an image to where this machine, or a cluster that shares its files, uses it; an existing one stays. */
async function fetchImage(cli: Cli, { spec, imageTokenFile: tokenFile }: Plan): Promise<void> {
  const { image } = spec.environment;
  const target = image === undefined ? undefined : cachedImage(image, cli.env);
  if (image === undefined || target === undefined || existsSync(target)) return;
  // Where no runtime can start it, the pool reports that.
  const { runsHere } = poolTraits[spec.run.pool];
  if (runsHere && (await findProgram(['apptainer', 'singularity'], cli.env)) === undefined) return;
  cli.err(`fetching the image ${image}, once for this machine\n`);
  // The stdout of a submitting command is about its run.
  const talking: Cli = { ...cli, out: (text) => cli.err(text) };
  const board = new TransferBoard(talking, boardMode(talking, {}), 1);
  const options = {
    federation: preferCaches(openFederation(cli), cachesOf(spec.run), byJobFile),
    unpack: undefined,
    ...(tokenFile !== undefined && { tokenFile }),
  };
  const result = await fetchItem(talking, board, { url: image, target }, options);
  if (result.fault === undefined) printResult(talking, board, result, {});
  board.close();
  if (result.fault !== undefined) throw result.fault;
}
