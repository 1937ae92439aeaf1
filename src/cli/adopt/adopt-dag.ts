import type { Finding } from '@updraft/base';
import { type DagFacts, lintDag, type Rescue, rescueLines, shownDag } from '@updraft/htcondor/dag';
import { Fault } from '../../fault/fault.ts';
import type { ProfileName } from '../../job/spec.ts';
import type { Cli } from '../cli.ts';
import { nextCommands, textWidth } from '../text/phrases.ts';
import { surveyDagFile } from './dag-file.ts';
import { errorsFound, findingsText } from './findings-text.ts';

/** Prints what is wrong with a DAG and its nodes' submit files, and what its rescue file would run again. */
export async function adoptDag(
  cli: Cli,
  file: string,
  argument: string,
  options: { json?: true; submit?: true; withPlugin?: true; pool?: ProfileName },
): Promise<void> {
  if (options.submit === true || options.withPlugin === true)
    throw new Fault('usage', 'Updraft does not submit DAGs', { fix: `condor_submit_dag ${argument}` });
  const facts = await surveyDagFile(cli, file, options.pool);
  const findings = lintDag(facts);
  const isBad = findings.some(({ level }) => level === 'error');
  if (options.json === true) cli.out(`${JSON.stringify(toJson(file, facts, findings, !isBad))}\n`);
  else cli.out(text(facts, findings, textWidth(cli)));
  if (isBad) throw errorsFound(file, argument, options);
  if (options.json === true) return;
  nextCommands(cli, [
    [`condor_submit_dag ${argument}`, 'submit it'],
    [`updraft report ${argument}`, 'where the time went, by node'],
  ]);
}

function text(facts: DagFacts, findings: readonly Finding[], width: number): string {
  const { headline, groups } = shownDag(facts, findings);
  return findingsText(headline, groups, facts.rescues.flatMap(rescueLines), width);
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
