import { counted } from '../../base/counted.ts';
import type { Finding } from '../../base/finding.ts';
import { firstFew, printable } from '../../base/printable.ts';
import type { DagFacts } from '../../dag/dag-rules.ts';
import type { DagNode } from '../../dag/dag.ts';
import type { Rescue } from '../../dag/rescue.ts';
import { lintDag, shownDag } from '../../dag/survey-dag.ts';
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

/** What `condor_submit_dag` would do with the newest rescue file, or an inner DAG with its own. */
function rescueLines({ file, dagman, failed, rerun, done }: Rescue): string[] {
  const who = dagman.node === undefined ? 'condor_submit_dag' : printable(dagman.node.name);
  const names = (nodes: readonly DagNode[]): string =>
    firstFew(
      nodes.map(({ name }) => printable(name)),
      8,
    );
  const again = rerun.filter(({ name }) => failed.includes(name));
  const others = rerun.filter(({ name }) => !failed.includes(name));
  const total = counted(rerun.length + done.length, 'node');
  return [
    `${who} would use ${printable(file)} and run ${rerun.length} of ${total}`,
    ...(again.length === 0 ? [] : [`  failed before: ${names(again)}`]),
    ...(others.length === 0 ? [] : [`  not done: ${names(others)}`]),
    ...(done.length === 0 ? [] : [`  done, not run again: ${names(done)}`]),
  ];
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
