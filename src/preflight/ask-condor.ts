import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile } from 'node:fs/promises';
import path from 'node:path';
import { text as allOf } from 'node:stream/consumers';
import { type Submission, type SubmitFacts, whyNotRun } from '@updraft/htcondor/submit';
import { defined, type Env } from '@updraft/base';
import { noForkCommand } from '@updraft/base/processes';
import { CondorTools } from '../pool/htcondor.ts';
import type { Asking } from './asking.ts';

/** What HTCondor itself says about a submit file. */
export interface CondorAnswer {
  asked: boolean;
  /** Why it was not asked. */
  why?: string;
  version?: string;
  accepted?: boolean;
  /** Whether the kernel prevented it from starting processes. */
  confined?: boolean;
  messages: string[];
}

const timeoutMs = 60_000;
/** About two seconds of work for `condor_submit -dry-run`. */
const maxJobs = 20_000;

/**
 * Asks the real `condor_submit`, which queues nothing. Only for a text that names no command, in an environment
 * without the user's, and unable to start a process where the kernel can prevent it.
 */
export async function askCondor(
  asking: Asking,
  file: string,
  { submission, folder = path.dirname(file) }: SubmitFacts,
): Promise<CondorAnswer> {
  const tools = await CondorTools.find(asking.env).catch(() => undefined);
  const text = await readFile(file, 'utf8');
  const why =
    tools === undefined ? 'condor_submit is not on the PATH' : (whyNotRun(text) ?? tooManyJobs(submission));
  if (tools === undefined || why !== undefined) return { asked: false, messages: [], ...defined({ why }) };
  const version = await tools.version().catch(() => 'of unknown version');
  const { words, env, confined } = await confinement(asking.env, tools);
  // A name that begins with a dash would be an option.
  const name = path.relative(folder, file).replace(/^-/, './-');
  const [program, ...args] = [...words, tools.command('condor_submit'), name, '-dry-run', '/dev/null'];
  const child = spawn(program, args, {
    cwd: folder,
    env: { ...namedVariables(text, { ...asking.env, PWD: folder }), ...env },
    // A list may be read from standard input.
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: timeoutMs,
    signal: asking.signal,
  });
  const closed = once(child, 'close');
  const [said, [status]] = await Promise.all([allOf(child.stderr), closed]).catch((error: unknown) => {
    asking.signal.throwIfAborted();
    return [String(error), [1]] as const;
  });
  return { asked: true, version, accepted: status === 0, confined, messages: linesOf(said) };
}

function tooManyJobs({ problems, queues }: Submission): string | undefined {
  const jobs = queues.reduce((sum, { total = 0 }) => sum + total, 0);
  // It would block on a pipe.
  const unread = problems.find(({ kind }) => kind === 'list-unread');
  if (unread !== undefined) return unread.message;
  if (jobs > maxJobs) return `${jobs.toLocaleString('en-US')} jobs would take it too long`;
  return problems.some(({ kind }) => kind === 'not-run')
    ? 'the file names a command that it would run'
    : undefined;
}

/** The pool's credential producer would run, and send credentials, even though nothing is queued. */
const withoutCredentials = { _CONDOR_SEC_CREDENTIAL_PRODUCER: '', _CONDOR_SEC_CREDENTIAL_STORER: '' };

async function confinement(
  { PATH = '', CONDOR_CONFIG }: Env,
  tools: CondorTools,
): Promise<{ words: string[]; env: Env; confined: boolean }> {
  const env: Env = { PATH, LC_ALL: 'C.UTF-8', ...defined({ CONDOR_CONFIG }), ...withoutCredentials };
  const isMini = await tools.isMini();
  // A script in HTCondor's place has to start processes; the mini pool's script confines what it starts.
  const words =
    isMini || !(await isScript(tools.command('condor_submit'))) ? await noForkCommand(env) : undefined;
  if (words === undefined) return { words: [], env, confined: false };
  return isMini
    ? { words: [], env: { ...env, UPDRAFT_NO_FORKS: '1' }, confined: true }
    : { words, env, confined: true };
}

async function isScript(file: string): Promise<boolean> {
  await using handle = await open(file);
  const { buffer } = await handle.read(Buffer.alloc(2), 0, 2, 0);
  return buffer.toString('latin1') === '#!';
}

/** Only the variables that the text refers to with `$ENV()`. */
function namedVariables(text: string, env: Env): Env {
  const names = [...text.matchAll(/\$ENV\(\s*(\w+)/gi)].map(([, name = '']) => name);
  return Object.fromEntries(
    names.filter((name) => !/^(_CONDOR|LD_)/i.test(name)).map((name) => [name, env[name]]),
  );
}

/** One line for each message: HTCondor wraps them. */
function linesOf(text: string): string[] {
  const messages: string[] = [];
  for (const line of text.split('\n').map((part) => part.trim())) {
    if (line === '') continue;
    if (/^(ERROR|WARNING)\b/i.test(line) || messages.length === 0) messages.push(line);
    else messages.push(`${messages.pop() ?? ''} ${line}`);
  }
  return messages;
}
