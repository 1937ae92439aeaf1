import { fileSize } from '@updraft/base';
import path from 'node:path';
import { EventLogTail, type LogEvent } from '@updraft/htcondor/eventlog';
import { attemptFolder } from '@updraft/account/run-folder';
import type { Plan } from '../../../job/plan.ts';
import type { FoldOptions, JobHistory } from '@updraft/account/history';
import type { AccountTrouble, EntrySource, Observation, SourceUpdate } from '@updraft/account/journal';
import { willRelease } from '@updraft/account/recovery';
import { readAttemptExit, withOutcomes } from '../../attempt-exit.ts';
import { condorFiles, isAdopted } from '../condor-files.ts';
import { policyOfJob, readPolicy, type RunPolicy } from '../submit/condor-policy.ts';
import { EventEntries } from './event-entries.ts';
import { RunClusters } from './run-clusters.ts';

/** The entries from HTCondor's event log of a run. Reads only the run's folder; does not ask the schedd. */
export const eventLogSource = (runFolder: string, plan: Plan): EntrySource =>
  new EventLogSource(runFolder, plan);

/** The jobs' histories from the same log, with evidence, by job id; `ours` unless it has its own rules. */
export const loggedHistories = (runFolder: string, ours: boolean): Promise<Map<string, JobHistory>> =>
  new EventLogSource(runFolder, undefined, { evidence: condorFiles.eventLog, ours }).histories();

class EventLogSource {
  readonly path: string;
  readonly paths: readonly string[];
  readonly #runFolder: string;
  readonly #plan: Plan | undefined;
  #policy: RunPolicy | undefined;
  #tail: EventLogTail | undefined;
  readonly #entries: EventEntries;
  readonly #clusters: RunClusters;
  /** Events since the first one whose job is not in the journal yet. */
  #deferred: LogEvent[] = [];
  #sawEvents = false;
  #garbled = 0;
  /** What happened to the file besides growing; kept. */
  #change: 'shrank' | 'replaced' | undefined;

  constructor(runFolder: string, plan: Plan | undefined, options?: Pick<FoldOptions, 'evidence' | 'ours'>) {
    this.#runFolder = runFolder;
    this.path = path.join(runFolder, condorFiles.eventLog);
    this.paths = [this.path];
    this.#plan = plan;
    this.#clusters = new RunClusters(runFolder);
    this.#entries = new EventEntries(
      {
        willRelease: (hold, failures, job) =>
          this.#policy !== undefined && willRelease(policyOfJob(this.#policy, job), hold, failures),
        leaseSeconds: () => this.#policy?.leaseSeconds,
      },
      this.#clusters,
      options,
    );
  }

  async histories(): Promise<Map<string, JobHistory>> {
    await this.#readLog();
    return this.#entries.finish();
  }

  async #readLog(): Promise<void> {
    await this.#clusters.refresh();
    this.#tail ??= await this.#openTail();
    await this.#tail.read();
    await this.#takeDeferred();
  }

  async read(): Promise<SourceUpdate> {
    await this.#readLog();
    const taken = this.#entries.take();
    const entries = (await isAdopted(this.#runFolder))
      ? taken.map(adoptedEntry)
      : await Promise.all(taken.map((entry) => this.#explain(beforeAgent(entry))));
    const damage = { file: condorFiles.eventLog, lines: this.#garbled };
    return {
      entries: withOutcomes(entries),
      damaged: this.#garbled === 0 ? [] : [damage],
      trouble: await this.#trouble(),
    };
  }

  async #trouble(): Promise<AccountTrouble | undefined> {
    if (this.#clusters.numbers.length === 0) return undefined; // not submitted yet
    const bytes = await fileSize(this.path);
    return eventLogTrouble({
      path: this.path,
      clusters: this.#clusters.numbers,
      bytes,
      hasEvents: this.#sawEvents,
      change: this.#change,
      isTruncated: this.#entries.isTruncated,
    });
  }

  /** Other jobs may write to the same log: only the run's own count. */
  #take(event: LogEvent): void {
    const isOurs = this.#deferred.length > 0 ? 'later' : this.#clusters.has(event);
    if (isOurs === 'later') this.#deferred.push(event);
    if (isOurs !== true) return;
    this.#sawEvents = true;
    this.#entries.add(event, this.#clusters.timeOf(event));
  }

  /** A round that began between reading the journal and the log is in the journal by now. */
  async #takeDeferred(): Promise<void> {
    if (this.#deferred.length === 0) return;
    await this.#clusters.refresh();
    const events = this.#deferred;
    this.#deferred = [];
    for (const event of events) this.#take(event);
  }

  async #openTail(): Promise<EventLogTail> {
    this.#policy = this.#plan && (await readPolicy(this.#runFolder, this.#plan));
    return new EventLogTail(this.path, {
      // Logs of old releases omit the year: it is the run's.
      reference: this.#clusters.createdAt,
      onEvent: (event) => this.#take(event),
      onGarbled: () => void (this.#garbled += 1),
      onNotice: (notice) => {
        this.#change = notice;
        this.#garbled = 0;
        this.#entries.restart();
      },
    });
  }

  /** HTCondor knows only the exit code; the agent's journal, returned with the outputs, knows why. */
  async #explain(entry: Observation): Promise<Observation> {
    if (entry.kind !== 'attempt-ended' || entry.exit === null || entry.exit === 0) return entry;
    const { job, attempt, exit } = entry;
    const folder = attemptFolder(this.#runFolder, job, attempt);
    const said = path.join(this.#runFolder, condorFiles.said, `${job}.err`);
    return { ...entry, ...(await readAttemptExit(folder, { code: exit, signal: null }, said)), exit };
  }
}

/** An executing job is at first only the agent, which reports when the training starts. */
const beforeAgent = (entry: Observation): Observation =>
  entry.kind === 'attempt-phase' && entry.phase === 'training' ? { ...entry, phase: 'preparing' } : entry;

/** Without an agent, HTCondor is the only source: an executing job trains, and the exit code is the program's. */
function adoptedEntry(entry: Observation): Observation {
  if (entry.kind !== 'attempt-ended' || entry.exit === null || entry.exit === 0) return entry;
  const message = `the program exited with code ${entry.exit}`;
  const fix = `read what it printed: \`updraft logs ${entry.job} --err\``;
  return { ...entry, fault: { kind: 'training-failed', cause: 'exit-code', message, fix } };
}

/** The state of an event log. */
interface LogCondition {
  path: string;
  clusters: number[];
  /** Its size now; undefined if the file is missing. */
  bytes: number | undefined;
  /** Whether it has ever had events of the run. */
  hasEvents: boolean;
  /** What happened to the file while it was followed. */
  change: 'shrank' | 'replaced' | undefined;
  /** Whether a job's first event is not its submission. */
  isTruncated: boolean;
}

/** Why the log of a submitted run may be incomplete; undefined if it is fine. Pure. */
function eventLogTrouble(log: LogCondition): AccountTrouble | undefined {
  const what = troubleOf(log);
  if (what === undefined) return undefined;
  const clusters = log.clusters.join(' ');
  return {
    message: `the run's event log ${log.path} ${what}`,
    fix:
      `the jobs are not affected: see \`condor_q ${clusters}\` and \`condor_history ${clusters}\`; ` +
      'restore the log if you can, and do not touch it while jobs are in the queue',
    ...(log.hasEvents ? {} : { isAllLost: true }),
  };
}

function troubleOf({ bytes, hasEvents, change, isTruncated }: LogCondition): string | undefined {
  const kept = hasEvents ? 'earlier events are kept' : 'the state of the jobs is unknown';
  if (bytes === undefined) return `is missing: ${kept}`;
  if (change === 'shrank') return `was truncated: ${kept}, unread ones are lost`;
  if (change === 'replaced')
    return `was replaced by another file: ${kept}, but HTCondor still writes to the old one`;
  if (!hasEvents) return `has no events of the run's jobs: ${kept}`;
  if (isTruncated) return 'has lost its beginning: jobs may be further than shown';
  return undefined;
}
