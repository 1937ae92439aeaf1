import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Submission } from '../../adopt/submission.ts';
import { CondorTools } from '../../pool/htcondor.ts';
import type { Cli } from '../cli.ts';

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
