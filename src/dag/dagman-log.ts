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
  /** How far its latest job came. */
  job: { state: 'submitted' | 'succeeded' | 'failed'; how: string } | undefined;
  /** How often DAGMan tried the node again. */
  retries: number;
  scripts: FailedScript[];
  /** Why its job could not be submitted, the last reason. */
  submitError: { text: string; at: string } | undefined;
}

/** What `.dagman.out` says of the latest run of a DAG. */
export interface DagmanAccount {
  nodes: Map<string, NodeAccount>;
  /** The rescue file that the latest run used. */
  rescue: string | undefined;
}

const stamp = /^(\d\d?\/\d\d\/\d\d(?:\d\d)? \d\d:\d\d:\d\d|\(\S+\)|\d{9,11}(?:\.\d+)?) (?:\(\S+\) )*(.*)$/;

/** Reads `.dagman.out` line by line: only what it says about nodes is kept. */
export class DagmanLog {
  #account = newAccount();
  #cannotStart: string | undefined;
  #node: string | undefined;

  get account(): DagmanAccount {
    return this.#account;
  }

  add(line: string): void {
    const [, at = '', text = ''] = stamp.exec(line) ?? [];
    if (text === '') return;
    const handled = this.#reader(text, at);
    if (!handled && text.startsWith('Create_Process')) this.#cannotStart = text;
  }

  #of(name: string): NodeAccount {
    const { nodes } = this.#account;
    const known = nodes.get(name) ?? newNode();
    nodes.set(name, known);
    return known;
  }

  #reader(text: string, at: string): boolean {
    return this.#run(text) || this.#script(text, at) || this.#job(text) || this.#submission(text, at);
  }

  #run(text: string): boolean {
    if (/^\*\* .*\(condor_dagman\) STARTING UP/i.test(text)) {
      this.#account = newAccount();
      return true;
    }
    const rescue = /^USING RESCUE DAG (.*)$/.exec(text)?.[1];
    if (rescue !== undefined) this.#account.rescue = rescue;
    return rescue !== undefined;
  }

  #script(text: string, at: string): boolean {
    const [, when, name = '', how = ''] =
      /^(PRE|POST|HOLD) Script of (?:node|job) (\S+) (failed with status \S+|died on .*)$/i.exec(text) ?? [];
    if (when === undefined) return false;
    this.#of(name).scripts.push({
      when: when.toUpperCase() as ScriptTime,
      how: how.replace(/\.$/, ''),
      notStarted: this.#cannotStart,
      at,
      line: text,
    });
    this.#cannotStart = undefined;
    return true;
  }

  #job(text: string): boolean {
    const submitted = /^Event: ULOG_SUBMIT for (?:HTCondor|Condor) (?:Node|Job) (\S+)/i.exec(text)?.[1];
    const [, ended, how = ''] =
      /^(?:Node|Job) (\S+) job proc \(\S+\) (completed successfully|failed .*)$/i.exec(
        text.replace(/\.$/, ''),
      ) ?? [];
    if (submitted !== undefined) this.#of(submitted).job = { state: 'submitted', how: '' };
    if (ended !== undefined)
      this.#of(ended).job = { state: how.startsWith('failed') ? 'failed' : 'succeeded', how };
    return submitted !== undefined || ended !== undefined;
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
      this.#of(failed).submitError = { text: reason, at };
      return true;
    }
    if (
      /^(ERROR: )?(Failed to run condor_submit|submit attempt failed|Could not change to node directory)/i.test(
        text,
      )
    ) {
      this.#cannotStart = text;
      if (this.#node !== undefined) this.#of(this.#node).submitError = { text, at };
    }
    return submitting !== undefined;
  }
}

const newNode = (): NodeAccount => ({
  job: undefined,
  retries: 0,
  scripts: [],
  submitError: undefined,
});

const newAccount = (): DagmanAccount => ({ nodes: new Map(), rescue: undefined });
