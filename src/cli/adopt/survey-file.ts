import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import type { SubmitFacts, PoolLimits, PastUsage } from '../../adopt/submit-facts.ts';
import type { Submission } from '../../adopt/submission.ts';
import { survey } from '../../adopt/survey.ts';
import { scanEventLog } from '../../eventlog/read-event-log.ts';
import type { ProfileName } from '../../job/spec.ts';
import { condorProfiles, CondorTools, findLimits, type Profile } from '../../pool/htcondor.ts';
import type { Cli } from '../cli.ts';

/** Surveys a submit description by the version and the customs of this access point, or those of the pool that is named. */
export async function surveyFile(
  cli: Cli,
  file: string,
  { pool, usage }: { pool?: ProfileName | undefined; usage?: PastUsage | undefined } = {},
): Promise<SubmitFacts> {
  const tools = await CondorTools.find(cli.env).catch(() => undefined);
  const [profile, version] = await Promise.all([
    tools === undefined || pool !== undefined ? condorProfiles[pool ?? 'htcondor'] : findLimits(pool, tools),
    tools?.version().catch(() => undefined),
  ]);
  const [major = 0, minor = 0, patch = 0] = (version ?? '').split('.').map(Number);
  return survey({
    file,
    env: cli.env,
    now: new Date(cli.clock.now()),
    limits: limitsOf(profile),
    ...(version === undefined ? {} : { version: [major, minor, patch] }),
    ...(usage === undefined ? {} : { usage }),
  });
}

/** What access points commonly allow: a profile that knows better says so. */
const usualInputBytes = 5000 * 2 ** 20;
const usualAdviceBytes = 1e9;

/** The limits of a profile that a submit description can break. */
export function limitsOf({
  title,
  nativeInputBytes,
  nativeFileBytes,
  wantsProject,
  durations,
  durationAttribute,
}: Profile): PoolLimits {
  return {
    title,
    inputBytes: nativeInputBytes ?? usualInputBytes,
    adviseBytes: nativeFileBytes ?? usualAdviceBytes,
    wantsProject,
    durationCategories:
      durationAttribute === 'JobDurationCategory' ? (durations ?? []).map(({ name }) => name) : [],
  };
}

/** The most memory and disk that a job of an event log used. */
export async function readUsage(file: string, signal: AbortSignal): Promise<PastUsage> {
  let [memory, disk] = [0, 0];
  await scanEventLog(
    file,
    (event) => {
      if (event.kind === 'image-size') memory = Math.max(memory, event.details.memoryUsageMb ?? 0);
      if (event.kind !== 'terminated' && event.kind !== 'evicted') return;
      for (const { name, usage = 0 } of event.details.resources) {
        if (/^memory$/i.test(name)) memory = Math.max(memory, usage);
        if (/^disk$/i.test(name)) disk = Math.max(disk, usage);
      }
    },
    { signal },
  );
  return {
    log: path.basename(file),
    ...(memory === 0 ? {} : { memoryMegabytes: memory }),
    ...(disk === 0 ? {} : { diskKilobytes: disk }),
  };
}

/** What HTCondor itself says about a submit description. */
export interface CondorAnswer {
  asked: boolean;
  /** Why it was not asked. */
  why?: string;
  version?: string;
  accepted?: boolean;
  messages: string[];
}

const patienceMs = 60_000;

/** Asks the real `condor_submit`, which queues nothing; not where it would run a command that the file names. */
export async function askCondor(cli: Cli, file: string, submission: Submission): Promise<CondorAnswer> {
  const tools = await CondorTools.find(cli.env).catch(() => undefined);
  if (tools === undefined) return { asked: false, why: 'condor_submit is not on the PATH', messages: [] };
  if (submission.problems.some(({ kind }) => kind === 'not-run'))
    return { asked: false, why: 'it would run a command that the file names', messages: [] };
  const version = await tools.version().catch(() => 'of unknown version');
  const args = [path.basename(file), '-dry-run', '/dev/null'];
  try {
    const { stderr } = await promisify(execFile)(tools.command('condor_submit'), args, {
      cwd: path.dirname(file),
      env: { ...cli.env },
      timeout: patienceMs,
      signal: cli.signal,
    });
    return { asked: true, version, accepted: true, messages: linesOf(stderr) };
  } catch (error) {
    cli.signal.throwIfAborted();
    const { stderr = '', message } = error as Error & { stderr?: string };
    return {
      asked: true,
      version,
      accepted: false,
      messages: linesOf(stderr.trim() === '' ? message : stderr),
    };
  }
}

/** One line for each message: HTCondor breaks them at will. */
function linesOf(text: string): string[] {
  const messages: string[] = [];
  for (const line of text.split('\n').map((part) => part.trim())) {
    if (line === '') continue;
    if (/^(ERROR|WARNING)\b/i.test(line) || messages.length === 0) messages.push(line);
    else messages.push(`${messages.pop() ?? ''} ${line}`);
  }
  return messages;
}
