import { counted } from '../base/counted.ts';
import { firstFew, printable, withoutSecrets } from '../base/printable.ts';
import { shellQuote } from '../base/shell-quote.ts';
import { clip, wrap } from '../base/text-table.ts';
import {
  adviceFor,
  type Cause,
  causeInfo,
  causeTitle,
  needsResubmission,
  sentence,
} from '../codes/causes.ts';
import { nodeJobLabel } from '../dag/node-jobs.ts';
import { idInQueue, type JobHistory, type JobOutcome } from '../history/history.ts';
import type { LogReport } from './log-report.ts';
import type { NodeReport } from './node-report.ts';
import type { ReadLogs } from './read-logs.ts';
import { resourceReports } from './resource-reports.ts';
import { historyLabel } from './section.ts';
import { memoryLine, remedyFor } from './verdict.ts';

/** Jobs of one owner that stand still for the same reason. */
export interface MailCause {
  cause: Cause;
  outcome: JobOutcome;
  jobs: string[];
  /** The same with their values of the matrix. */
  labels: string[];
  what: string;
  advice: string;
  /** A line for the submit file or job file, or null. */
  line: string | null;
  /** The command that helps once the cause is fixed, or null. */
  command: string | null;
  /** The pool's words about the first of the jobs, or null. */
  reason: string | null;
}

/** What to write to the owner of jobs that cannot go on without a person. */
export interface Mail {
  /** Null if neither the logs nor their files name the owner. */
  to: string | null;
  /** Whether `to` is who owns the files of the logs, which name no owner. */
  isFileOwner: boolean;
  /** The logs of the jobs. */
  logs: string[];
  subject: string;
  causes: MailCause[];
  text: string;
}

/** What `report --mail` prints with `--json`. */
export interface Mails {
  format: 1;
  mails: Mail[];
  /** What only the staff of the pool can change. */
  staff: MailCause[];
}

/** Who must act on a job that stands still; nobody if it goes on by itself, or if a person has ended it. */
function whoActs({ outcome, cause = 'unknown', attempts }: JobHistory): 'owner' | 'staff' | 'nobody' {
  const isRemovedByRule = outcome === 'removed' && attempts.at(-1)?.ending === 'removed';
  if (outcome !== 'held' && outcome !== 'failed' && outcome !== 'wrongOutput' && !isRemovedByRule)
    return 'nobody';
  const { change } = causeInfo(cause);
  if (change === 'nothing') return 'nobody';
  return change === 'staff' ? 'staff' : 'owner';
}

/** A mail for each owner, the most jobs first, and one about jobs without a known owner. */
export function mailsOf({ jobs, report }: ReadLogs, title: string): Mails {
  const name = report.source === 'run' ? title : (report.dag?.file ?? report.logs[0] ?? title);
  const waiting = Map.groupBy(jobs, whoActs);
  const keyOf = ({ owner }: JobHistory) => owner ?? null;
  const all = Map.groupBy(jobs, keyOf);
  const nodes = nodeCauses(report.dag);
  const ofOwners = Map.groupBy(waiting.get('owner') ?? [], keyOf);
  const dagOwner = jobs[0]?.owner ?? null;
  if (nodes.length > 0 && !ofOwners.has(dagOwner)) ofOwners.set(dagOwner, []);
  const mails = [...ofOwners].map(([to, own]): Mail => {
    const logs = [...new Set(own.length === 0 ? [name] : own.map(({ log = name }) => log))];
    const withoutJob = to === dagOwner ? nodes : [];
    const causes = [...causesOf(own, report, name), ...withoutJob];
    const unsubmitted = withoutJob.flatMap((cause) => cause.jobs).length;
    const count = own.length + unsubmitted;
    const total = (all.get(to)?.length ?? 0) + unsubmitted;
    const subject = `${whichJobs(count, total)} ${count === 1 ? 'needs' : 'need'} your help`;
    const isFileOwner = own.some((job) => job.isFileOwner);
    const example = own.find(({ outcome }) => outcome === 'held') ?? own[0];
    const text = mailText({ to, logs, causes, count, total, example, name });
    return { to, isFileOwner, logs, subject, causes, text };
  });
  const size = ({ causes }: Mail) => causes.reduce((sum, { jobs: ids }) => sum + ids.length, 0);
  return {
    format: 1,
    mails: mails.sort((a, b) => size(b) - size(a)),
    staff: causesOf(waiting.get('staff') ?? [], report, name),
  };
}

function whichJobs(count: number, total: number): string {
  if (total === 1) return 'Your job';
  if (count === total) return total === 2 ? 'Both of your jobs' : `All ${total} of your jobs`;
  return `${count} of your ${total} jobs`;
}

/** Nodes of a DAG that failed before they had a job. */
const nodeCauses = (dag: NodeReport | null): MailCause[] =>
  (dag?.notSubmitted ?? []).flatMap(({ why, isFailed, nodes }): MailCause[] => {
    const cause = why.includes('script') ? 'script-failed' : 'node-blocked';
    const [what, advice] = [causeTitle(cause), adviceFor(cause)];
    const about = { cause, outcome: 'failed', jobs: nodes, labels: nodes, what, advice } as const;
    return isFailed ? [{ ...about, line: null, command: submitDag(dag), reason: why }] : [];
  });

/** What runs the nodes that are not done; null without the DAG file. */
const submitDag = (dag: NodeReport | null): string | null => {
  const file = dag?.file ?? null;
  return file === null ? null : `condor_submit_dag ${shellQuote(file.replace(/^.*\//, ''))}`;
};

function causesOf(
  jobs: readonly JobHistory[],
  { source, dag }: Pick<LogReport, 'source' | 'dag'>,
  name: string,
): MailCause[] {
  const alike = Map.groupBy(jobs, ({ outcome, cause = 'unknown' }) => `${outcome} ${cause}`);
  return [...alike.values()]
    .sort((a, b) => b.length - a.length)
    .flatMap((same): MailCause[] => {
      const [first] = same;
      if (first === undefined) return [];
      const { cause = 'unknown', outcome } = first;
      const reason = reasonOf(same);
      return [
        {
          cause,
          outcome,
          jobs: same.map(({ id, node = id, siblings }) => nodeJobLabel(id, node, siblings)),
          labels: same.map(historyLabel),
          what: causeTitle(cause),
          advice: remedyFor(same, cause, source),
          line: cause === 'memory-exceeded' ? memoryLine(resourceReports(same), source) : null,
          command:
            source === 'run'
              ? `updraft retry ${shellQuote(name)} --dry-run`
              : (queueCommand(same, cause, outcome) ?? submitDag(dag)),
          reason: reason === undefined ? null : withoutSecrets(printable(reason)),
        },
      ];
    });
}

/** The pool's words about the first job; of programs that ended in several ways, how each did. */
function reasonOf(jobs: readonly JobHistory[]): string | undefined {
  const [first] = jobs;
  const ways = Map.groupBy(jobs, ({ reason }) => reason);
  if (first?.reason?.startsWith('ended ') !== true || ways.size === 1) return first?.reason;
  return [...ways]
    .map(([how = 'ended', own]) => `${firstFew(own.map(historyLabel), maxNamed)}: ${how}`)
    .join('; ');
}

function queueCommand(jobs: readonly JobHistory[], cause: Cause, outcome: JobOutcome): string | null {
  if (outcome !== 'held') return null;
  const ids = jobs.map(({ id }) => idInQueue(id)).slice(0, maxIds);
  return `${needsResubmission(cause) ? 'condor_rm' : 'condor_release'} ${ids.join(' ')}`;
}

/** Commands name no more jobs than this. */
const maxIds = 20;
const [mailWidth, maxNamed, maxLogs, maxReasonChars] = [76, 8, 3, 300];

interface MailFacts extends Pick<Mail, 'to' | 'logs' | 'causes'> {
  count: number;
  total: number;
  /** One to read more about, held if any is. */
  example: JobHistory | undefined;
  /** What the report is about. */
  name: string;
}

function mailText({ to, logs, causes, count, total, example, name }: MailFacts): string {
  const held = causes.find(({ outcome }) => outcome === 'held');
  const again = causes.flatMap(({ command }) => command ?? []).find(isDagCommand);
  const { id = causes[0]?.jobs[0] ?? '', node = id, siblings, log = name } = example ?? {};
  const where = `in ${firstFew(logs.map(printable), maxLogs)}`;
  const stuck =
    count === total && total > 1
      ? `None of your ${total} jobs ${where} can finish without your help.`
      : `${whichJobs(count, total)} ${where} cannot finish without your help.`;
  return [
    // A number is no name to greet anybody by.
    to === null || /^uid \d+$/.test(to) ? 'Hello,' : `Hello ${printable(to)},`,
    '',
    ...wrap(`${stuck} What happened, and what helps:`, mailWidth),
    ...causes.flatMap((cause) => ['', ...causeLines(cause)]),
    ...(again === undefined
      ? []
      : ['', 'Once all of this is fixed and DAGMan has ended, run what is not done:', `    ${again}`]),
    '',
    `To read more about ${count === 1 ? 'it' : 'one of them'}:`,
    ...(held === undefined || held.command?.startsWith('updraft')
      ? []
      : [`    condor_q -hold ${idInQueue(id)}`]),
    `    updraft why ${shellQuote(log)} ${shellQuote(siblings === true ? id : node)}`,
    '',
    'If something is unclear, please reply: we are glad to help.',
  ].join('\n');
}

/** Jobs that stand still for one reason, as an item of a list. */
function causeLines({
  cause,
  outcome,
  jobs,
  labels,
  what,
  advice,
  line,
  command,
  reason,
}: MailCause): string[] {
  const say = (text: string) => wrap(text, mailWidth, '  ', '  ');
  const them = jobs.length === 1 ? 'it' : 'them';
  const isUnnamed = command?.startsWith('condor_r') === true && jobs.length > maxIds;
  const state = `${counted(jobs.length, 'job')} ${outcomeText(outcome, jobs.length)}`;
  return [
    ...wrap(`* ${state}: ${firstFew(labels.map(printable), maxNamed)}`, mailWidth, '', '  '),
    ...say(`Why: ${what}.`),
    ...(reason === null ? [] : say(howText(outcome, clip(reason, maxReasonChars)))),
    ...say(`What helps: ${sentence(advice)}`),
    ...(line === null ? [] : [`      ${line}`]),
    ...say(`${whenToAct(cause, command)} ${nextStep(command, them)}`),
    ...(command === null || isDagCommand(command) ? [] : [`      ${command}`]),
    ...(isUnnamed ? say(`and the other ${jobs.length - maxIds} likewise.`) : []),
  ];
}

/** The pool's own words, or how the program ended. */
const howText = (outcome: JobOutcome, reason: string): string =>
  outcome === 'failed' && reason.startsWith('ended ') ? sentence(`it ${reason}`) : `The log says: ${reason}`;

function whenToAct(cause: Cause, command: string | null): string {
  if (isPassing(cause)) return 'Then';
  // A corrected name does not reach a job that is held.
  const isOldName = cause === 'input-missing' && command?.startsWith('condor_release') === true;
  return isOldName ? 'When the file is there under its old name,' : 'When that is fixed,';
}

const isPassing = (cause: Cause): boolean => causeInfo(cause).change === 'retry';

const isDagCommand = (command: string): boolean => command.startsWith('condor_submit_dag');

function nextStep(command: string | null, them: string): string {
  if (command === null) return `submit ${them} again.`;
  if (isDagCommand(command)) return 'submit the DAG again (see below).';
  if (command.startsWith('updraft')) return `look at what a retry would do:`;
  return command.startsWith('condor_rm')
    ? `submit ${them} again, and remove what is held:`
    : `release ${them}:`;
}

function outcomeText(outcome: JobOutcome, count: number): string {
  const [be, past, have] = count === 1 ? ['is', 'was', 'has'] : ['are', 'were', 'have'];
  if (outcome === 'held') return `${be} held`;
  if (outcome === 'removed') return `${past} removed by a rule`;
  return outcome === 'wrongOutput' ? `${have} a wrong result` : 'failed';
}

/** All mails as text to read and send, and what is left for the staff. */
export function mailsText({ mails, staff }: Mails, total: number): string {
  const letters = mails.map(({ to, isFileOwner, logs, subject, text }) => {
    const ofFile = isFileOwner ? ' (by the owner of the file: the log names none)' : '';
    const who = to === null ? `the owner of ${firstFew(logs, maxLogs)}` : `${to}${ofFile}`;
    return `To: ${printable(who)}\nSubject: ${subject}\n\n${text}`;
  });
  const forStaff =
    staff.length === 0
      ? []
      : [
          [
            'For the staff of the pool, not for owners:',
            ...staff.flatMap((one) => ['', ...causeLines(one)]),
          ].join('\n'),
        ];
  if (letters.length + forStaff.length === 0)
    return total === 1
      ? 'Nobody needs a mail: the job does not wait for a person.'
      : `Nobody needs a mail: none of the ${total} jobs waits for a person.`;
  return [...letters, ...forStaff].join(`\n\n${'-'.repeat(mailWidth)}\n\n`);
}
