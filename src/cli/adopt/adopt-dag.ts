import path from 'node:path';
import type { Finding } from '@updraft/base';
import { groupedProblems } from '@updraft/view/document';
import { type DagFacts, lintDag, type Rescue, rescueLines, shownDag, surveyDag } from '@updraft/htcondor/dag';
import { diskFiles } from '@updraft/htcondor/submit';
import { Fault } from '@updraft/account/fault';
import type { Cli } from '../cli.ts';
import { adoptErrors, errorsIn } from '../text/findings-page.ts';
import { nextCommands, printPage } from '../text/phrases.ts';
import { surveyContext } from '../../preflight/survey-file.ts';

/** Prints what is wrong with a DAG and its nodes' submit files, and what its rescue file would run again. */
export async function adoptDag(
  cli: Cli,
  file: string,
  argument: string,
  options: { json?: true; pool?: string },
): Promise<void> {
  const facts = await surveyDagFile(cli, file, options.pool);
  const findings = lintDag(facts);
  const errors = errorsIn(findings);
  const { json = false } = options;
  const { headline, groups } = shownDag(facts, findings);
  const rescues = facts.rescues.flatMap(rescueLines);
  const page = [headline, ...groupedProblems(groups), ...(rescues.length === 0 ? [] : ['', ...rescues])];
  printPage(cli, page, [], json && toJson(file, facts, findings, errors === 0));
  if (errors > 0) throw adoptErrors(file, { errors, argument, json });
  if (json) return;
  nextCommands(cli, [
    [`condor_submit_dag ${argument}`, 'submit it'],
    [`updraft report ${argument}`, 'where the time went, by node'],
  ]);
}

const rescueJson = (rescue: Rescue | undefined): Record<string, unknown> | null =>
  rescue === undefined
    ? null
    : {
        file: rescue.file,
        failed: rescue.failed,
        rerun: rescue.rerun.map(({ name }) => name),
        done: rescue.done.map(({ name }) => name),
      };

function toJson(
  file: string,
  { dag, rescues }: DagFacts,
  findings: readonly Finding[],
  ok: boolean,
): Record<string, unknown> {
  return {
    format: 1,
    ok,
    file,
    nodes: dag.nodes.length,
    findings,
    rescue: rescueJson(rescues.find(({ dagman }) => dagman.node === undefined)),
    innerRescues: rescues.filter(({ dagman }) => dagman.node !== undefined).map(rescueJson),
  };
}

/** Reads a DAG and its nodes' submit files, by the version and limits of this access point or of the given pool. */
async function surveyDagFile(cli: Cli, file: string, pool?: string): Promise<DagFacts> {
  const folder = path.dirname(file);
  const files = diskFiles(folder);
  const text = files.read(path.basename(file));
  if (text === undefined) throw notADag(`the DAG ${file} cannot be read`, file);
  return surveyDag({ file: path.basename(file), text, folder, files, ...(await surveyContext(cli, pool)) });
}

export const notADag = (message: string, word: string): Fault =>
  new Fault('file-invalid', message, {
    about: word,
    fix: 'name the file that you pass to condor_submit_dag',
  });
