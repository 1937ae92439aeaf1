import path from 'node:path';
import type { Submission } from '../../adopt/submission.ts';
import { condorFiles } from '../../pool/htcondor.ts';

/** Statements that are given to `condor_submit` beside the file, which itself stays as it is. */
export function additions(submission: Submission, runFolder: string, withPlugin: boolean): string[] {
  const has = (command: string): boolean => submission.assignments.some((one) => one.command === command);
  // A folder's name may look like a macro.
  const inRun = (name: string): string => path.join(runFolder, name).replaceAll('$(', '$(DOLLAR)(');
  return [
    // A second log, wherever the jobs' own ones are: the schedd writes to both.
    `dagman_log = ${inRun(condorFiles.eventLog)}`,
    // By which they are found in the queue when nobody heard what became of the submission.
    `MY.UpdraftRun = "${path.basename(runFolder)}"`,
    ...(has('ulog_execute_attrs') ? [] : ['ulog_execute_attrs = GLIDEIN_ResourceName']),
    ...(withPlugin ? pluginStatements(has, inRun) : []),
  ];
}

function pluginStatements(has: (command: string) => boolean, inRun: (name: string) => string): string[] {
  const plugin = `osdf,pelican,stash=${inRun(condorFiles.plugin)}`;
  const agent = inRun(condorFiles.agent);
  return [
    `transfer_plugins = ${has('transfer_plugins') ? `$(transfer_plugins); ${plugin}` : plugin}`,
    `transfer_input_files = ${has('transfer_input_files') ? `$(transfer_input_files), ${agent}` : agent}`,
  ];
}

/** What the additions would be as a change to the file: they stand before its first queue statement. */
export function additionsDiff(file: string, { queues }: Submission, added: readonly string[]): string {
  const name = path.basename(file);
  const line = queues[0]?.place.line ?? 1;
  const head = `--- ${name}\n+++ ${name} as it is submitted\n@@ -${line} +${line},${added.length + 1} @@\n`;
  return `${head}${added.map((statement) => `+${statement}\n`).join('')} ${queues[0]?.text ?? 'queue'}\n`;
}
