import { withoutSecrets } from '@updraft/base/secrets';
import type { ScriptTime } from './dag-command.ts';

export interface FailedScript {
  when: ScriptTime;
  /** `failed with status 4`, `died on signal 9`. */
  how: string;
  /** Why DAGMan could not even start it. */
  notStarted: string | undefined;
  /** The time as written. */
  at: string;
  /** The line as written, without its time. */
  line: string;
}

/** What `.dagman.out` says of a node in the latest run of the DAG. */
export interface NodeAccount {
  /** How far its latest job came, and how its POST script ended; `how` follows `its job`. */
  job?: { state: NodeState; how: string } | undefined;
  cluster?: number;
  /** Its jobs that have not ended, and those of them that are held, with the reason. */
  queued?: Set<string> | undefined;
  held?: Map<string, NodeAccount['hold']> | undefined;
  /** Why the first of these is held, or was before it was removed. */
  hold?: { text: string; at: string } | undefined;
  /** The script that made the node a success: POST, whatever its job did, or PRE, by PRE_SKIP. */
  doneBy?: ScriptTime | undefined;
  /** How often DAGMan tried the node again. */
  retries: number;
  scripts: FailedScript[];
  /** Why its job could not be submitted, the last reason. */
  submitError?: { text: string; at: string };
}

/** How a node ended; `active` if it has not. */
export type NodeState = 'done' | 'failed' | 'removed' | 'active';

/** How a DAGMan that does not run any more ended. */
export interface DagmanEnd {
  /** In words that follow its name: `exited with status 1`. */
  how: string;
  /** Whether the nodes do not show it: none failed, or their failure was not the end. */
  isNews: boolean;
  /** How to continue, unless `condor_submit_dag` runs what is left. */
  advice?: string | undefined;
}

/** What `.dagman.out` says of the latest run of a DAG. */
export interface DagmanAccount {
  /** Whether there is a `.dagman.out`. */
  isThere: boolean;
  nodes: Map<string, NodeAccount>;
  /** The clusters of nodes in that run, and in those before it whose work it continued. */
  clusters: Set<number>;
  /** The rescue file that the latest run used. */
  rescue?: string;
  /** Undefined while DAGMan runs. */
  end?: DagmanEnd;
}

const stamp = /^(\d\d?\/\d\d\/\d\d(?:\d\d)? \d\d:\d\d:\d\d|\(\S+\)|\d{9,11}(?:\.\d+)?) (?:\(\S+\) )*(.*)$/;

const scriptEnd = new RegExp(
  String.raw`^(PRE|POST|HOLD) Script of (?:node|job) (\S+) ` +
    String.raw`(completed successfully|failed with status \S+|died on .*?)\.?$`,
  'i',
);

/** Reads `.dagman.out` line by line: only what it says about nodes and its own end is kept. */
export class DagmanLog {
  #account = newAccount();
  /** The clusters of earlier runs. */
  #before: ReadonlySet<number> = new Set();
  #cannotStart: string | undefined;
  /** The node that is being submitted, the one that the last line about a node named, and the job of the last event. */
  #node: string | undefined;
  #latest = '';
  #job = '';
  /** What it said about an end that may follow; an error with a colon before it. */
  #error = '';
  #stop: string | undefined;
  #advice: string | undefined = withoutRescue;

  get account(): DagmanAccount {
    return this.#account;
  }

  add(line: string): void {
    const [, at = '', text = ''] = stamp.exec(line) ?? [];
    if (text === '') return;
    this.#account.isThere = true;
    const handled =
      this.#run(text) || this.#script(text, at) || this.#event(text, at) || this.#submission(text, at);
    if (!handled && text.startsWith('Create_Process')) this.#cannotStart = text;
    if (!handled) this.#readEnd(text);
  }

  #of(name: string): NodeAccount {
    const { nodes } = this.#account;
    const known = nodes.get(name) ?? { retries: 0, scripts: [] };
    nodes.set(name, known);
    this.#latest = name;
    return known;
  }

  #run(text: string): boolean {
    if (/^\*\* .*\(condor_dagman\) STARTING UP/i.test(text)) {
      this.#before = this.#account.clusters;
      this.#account = newAccount();
      [this.#error, this.#stop, this.#advice] = ['', undefined, withoutRescue];
      return true;
    }
    const rescue = /^USING RESCUE DAG (.*)$/.exec(text)?.[1];
    if (rescue !== undefined) this.#account.rescue = rescue;
    const continues = rescue !== undefined || text.startsWith('Running in RECOVERY mode');
    if (continues) for (const cluster of this.#before) this.#account.clusters.add(cluster);
    return continues;
  }

  #script(text: string, at: string): boolean {
    const skipped = /^PRE_SKIP return value \S+ indicates we are done \(successfully\) with node (\S+)/.exec(
      text,
    );
    if (skipped !== null) {
      const node = this.#of(skipped[1] ?? '');
      node.doneBy = 'PRE';
      node.scripts = node.scripts.filter(({ when }) => when !== 'PRE');
      return true;
    }
    const [, time, name = '', how = ''] = scriptEnd.exec(text) ?? [];
    if (time === undefined) return false;
    const when = time.toUpperCase() as ScriptTime;
    const node = this.#of(name);
    const isGood = how.startsWith('completed');
    if (when === 'POST') endWithPost(node, isGood ? undefined : how);
    else if (when === 'PRE' && !isGood) node.job = undefined;
    if (!isGood) node.scripts.push({ when, how, notStarted: this.#cannotStart, at, line: text });
    this.#cannotStart = undefined;
    return true;
  }

  #event(text: string, at: string): boolean {
    const [, event, name = '', id = ''] =
      /^Event: ULOG_(\w+) for (?:HTCondor|Condor) (?:Node|Job) (\S+) \((\d+\.[^)]*)/i.exec(text) ?? [];
    const [, ended, job = '', how = ''] =
      /^(?:Node|Job) (\S+) job proc \((\S+)\) (completed successfully|failed .*?)\.?$/i.exec(text) ?? [];
    const hold = /^\s*Hold reason: (.*)$/.exec(text)?.[1];
    if (event === undefined && ended === undefined && hold === undefined) return false;
    const node = this.#of(event === undefined ? (ended ?? this.#latest) : name);
    if (event !== undefined) this.#job = id;
    if (event === 'SUBMIT') this.#submitted(node, id);
    // One of several jobs that fails or is removed is enough.
    if (node.job?.state === 'failed' || node.job?.state === 'removed') return true;
    if (event === 'JOB_ABORTED')
      node.job = { state: 'removed', how: `was ${node.hold === undefined ? '' : 'held and then '}removed` };
    else if (how.startsWith('failed')) [node.job, node.hold] = [{ state: 'failed', how }, undefined];
    else if (event === undefined || /^(?:SUBMIT|JOB_HELD|JOB_RELEASED)$/.test(event)) {
      if (event === 'JOB_HELD') (node.held ??= new Map()).set(id, undefined);
      else if (event === 'JOB_RELEASED') node.held?.delete(id);
      else if (hold !== undefined) node.held?.set(this.#job, { text: hold, at });
      else for (const open of [node.held, node.queued]) open?.delete(job);
      settle(node, how);
    }
    return true;
  }

  /** A node has several jobs, or one after the other if it is tried again. */
  #submitted(node: NodeAccount, id: string): void {
    const cluster = Number.parseInt(id, 10);
    if (cluster > 0) this.#account.clusters.add(cluster);
    if (node.cluster !== cluster || node.job === undefined)
      Object.assign(node, { cluster, job: undefined, queued: undefined, held: undefined, doneBy: undefined });
    (node.queued ??= new Set()).add(id);
  }

  #submission(text: string, at: string): boolean {
    const retried = /^Retrying node (\S+) \(retry #(\d+)/.exec(text);
    if (retried !== null) {
      this.#of(retried[1] ?? '').retries = Number(retried[2]);
      return true;
    }
    const submitting = /^Submitting (?:HTCondor|Condor) (?:Node|Job) (\S+)/i.exec(text)?.[1];
    if (submitting !== undefined) this.#node = submitting;
    const [, failed, why = ''] =
      /^Event: ULOG_SUBMIT_FAILURE for HTCondor Node (\S+) \(.*?\) \{.*?\} ?(.*)$/.exec(text) ?? [];
    if (failed !== undefined) {
      const before = this.#of(failed).submitError;
      const reason = why === '' ? (this.#cannotStart ?? before?.text ?? '') : why;
      Object.assign(this.#of(failed), { submitError: { text: reason, at }, job: undefined });
      return true;
    }
    if (
      /^(ERROR: )?(Failed to run condor_submit|submit attempt failed|Could not change to node directory)/i.test(
        text,
      )
    ) {
      this.#cannotStart = text;
      if (this.#node !== undefined) this.#of(this.#node).submitError = { text, at };
      return true;
    }
    return submitting !== undefined;
  }

  #readEnd(text: string): void {
    const { nodes } = this.#account;
    const error = /^ERROR: (?!the following (?:Node|job)\(s\) failed)(.*?)\.?$/i.exec(text)?.[1];
    if (error !== undefined) this.#error = `: ${withoutSecrets(error)}`;
    const place = /^Processing error at (.*)$/.exec(text)?.[1];
    if (place !== undefined) {
      this.#stop = `refused the DAG${this.#error} (${place})`;
      this.#advice = `Correct ${place}, then submit the DAG again: condor_submit_dag -force.`;
    } else if (text.startsWith('Aborting DAG because'))
      this.#stop =
        `aborted the DAG, because ${this.#latest} ` +
        `${nodes.get(this.#latest)?.job?.how ?? 'ended'} (ABORT-DAG-ON)`;
    else if (text.startsWith('Received SIGUSR1')) this.#stop = 'was removed';
    else if (text.startsWith('DAG status:') && (this.#stop === undefined || this.#stop === halted))
      this.#stop = text.endsWith('(DAG_STATUS_HALTED)') ? halted : undefined;
    else if (text.startsWith('Writing Rescue DAG')) this.#advice = undefined;
    const status = /EXITING WITH STATUS (-?\d+)/.exec(text)?.[1];
    if (status === undefined) return;
    const hasFailures = [...nodes.values()].some(
      ({ job, scripts, submitError }) =>
        job?.state === 'failed' || scripts.length > 0 || submitError !== undefined,
    );
    if (!hasFailures && this.#error !== '') this.#stop ??= `gave up${this.#error}`;
    const isNews = this.#stop !== undefined || (status !== '0' && !hasFailures);
    this.#account.end = { how: this.#stop ?? `exited with status ${status}`, isNews, advice: this.#advice };
  }
}

const newAccount = (): DagmanAccount => ({ isThere: false, nodes: new Map(), clusters: new Set() });
const halted = 'was halted: there was a .halt file beside the DAG';
const withoutRescue = 'DAGMan wrote no rescue file: condor_submit_dag -force runs all nodes again.';

/** All jobs of a node must end, and one that is held keeps it. */
function settle(node: NodeAccount, how: string): void {
  const { held = new Map<string, NodeAccount['hold']>(), queued } = node;
  node.hold = held.values().next().value;
  if (held.size > 0) node.job = { state: 'active', how: 'was held' };
  else if (how === '' || (queued?.size ?? 0) > 0) node.job = { state: 'active', how: '' };
  else Object.assign(node, { job: { state: 'done', how }, queued: undefined, held: undefined });
}

/** The result of a POST script is that of its node. */
function endWithPost(node: NodeAccount, failure: string | undefined): void {
  const isGood = failure === undefined;
  node.doneBy = isGood ? 'POST' : undefined;
  if (isGood) node.hold = undefined;
  if (node.job === undefined) return;
  const { state, how } = node.job;
  const and = isGood === (state === 'done') ? 'and' : 'but';
  const [ended, post] = isGood ? (['done', 'succeeded'] as const) : (['failed', failure] as const);
  node.job = { state: ended, how: `${how}, ${and} its POST script ${post}` };
}
