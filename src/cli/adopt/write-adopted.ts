import path from 'node:path';
import { hideSecretsOf, quotedTexts } from '@updraft/htcondor/lint';
import type { SubmitFacts } from '@updraft/htcondor/submit';
import { Fault } from '../../fault/fault.ts';
import type { Cli } from '../cli.ts';
import { renderJob } from '../init/render-job.ts';
import { refuseSecondFile, schemaLine, writeJobFile } from '../init/write-job-file.ts';
import { jobFileArgument } from '../job-file-argument.ts';
import { nextCommands } from '../text/phrases.ts';
import { draftSubmitted } from './draft-submitted.ts';

/** Writes `updraft.toml` beside a submit file, and says what it could not carry over. Never replaces a job file. */
export async function writeAdopted(cli: Cli, file: string, facts: SubmitFacts): Promise<void> {
  const { folder = path.dirname(file) } = facts;
  await refuseSecondFile(folder, undefined);
  const draft = draftSubmitted(file, facts);
  if (draft === undefined)
    throw new Fault('file-invalid', `${path.basename(file)} has no job with an executable`, {
      fix: 'add `executable` and `queue`, then write the job file',
      about: file,
    });
  const target = path.join(folder, 'updraft.toml');
  const schema = await schemaLine(cli.env);
  const script = path.relative(folder, file);
  await writeJobFile(target, renderJob(draft, { script, pool: 'condor', schema, isRemote: true }));
  cli.out(`${path.relative(cli.cwd, target)}\n`);
  const open = draft.open.map(({ what, why }) => `to fill in: ${what}: ${why}\n`);
  const left = draft.hints.map((hint) => `not carried over: ${hint}\n`);
  const needless = draft.submitted?.needless ?? [];
  const done = needless.length === 0 ? [] : [`not needed, Updraft does it itself: ${needless.join(', ')}\n`];
  const hide = hideSecretsOf(quotedTexts(facts));
  cli.err([...open, ...left, ...done].map(hide).join(''));
  const here = jobFileArgument(path.relative(cli.cwd, folder) || '.');
  nextCommands(cli, [
    [`updraft check${here}`, 'find what would fail'],
    [`updraft plan${here}`, 'show what would be sent and run, and why'],
    [`updraft run${here}`, 'submit it and watch'],
  ]);
}
