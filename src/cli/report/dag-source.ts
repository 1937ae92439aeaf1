import { createReadStream } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { diskFiles } from '../../adopt/disk-files.ts';
import { DagmanLog, type DagmanAccount } from '../../dag/dagman-log.ts';
import { nodeLogs } from '../../dag/node-logs.ts';
import type { DagRun } from '../../dag/not-submitted.ts';
import { readDag } from '../../dag/read-dag.ts';
import { readRescue } from '../../dag/rescue.ts';
import { logSources } from '../../eventlog/log-sources.ts';
import type { LogSource } from '../../eventlog/scan-log.ts';
import { Fault } from '../../fault/fault.ts';
import type { Cli } from '../cli.ts';
import { pathKind } from '../find-run.ts';

/** A DAG with the logs of its nodes. */
export interface DagLogs {
  run: DagRun;
  logs: LogSource[];
}

/** Reads a DAG, `.dagman.out`, and finds the logs that its nodes' submit files name, and `.nodes.log`. */
export async function readDagLogs(cli: Cli, word: string): Promise<DagLogs> {
  const file = path.resolve(cli.cwd, word);
  const [folder, name] = [path.dirname(file), path.basename(file)];
  const files = diskFiles(folder);
  const text = files.read(name);
  if (text === undefined)
    throw new Fault('file-invalid', `the DAG ${word} cannot be read`, {
      about: word,
      fix: 'name the file that you passed to condor_submit_dag',
    });
  const dag = readDag(name, text, (one) => files.read(one));
  const named = nodeLogs(dag, { files, env: cli.env, now: new Date(cli.clock.now()) });
  const shown = [...named, `${name}.nodes.log`].map((log) => path.join(path.dirname(word), log));
  const found = await Promise.all(shown.map((log) => pathKind(path.resolve(cli.cwd, log))));
  const sources = await logSources(
    shown.filter((_, index) => found[index] === 'file'),
    { cwd: cli.cwd },
  );
  // A node's name says enough: its log need not be named.
  const logs = sources.map((source) => ({ ...source, partOf: word }));
  const account = await readAccount(path.join(folder, `${name}.dagman.out`));
  const rescue = account?.rescue;
  const rescueText = rescue === undefined ? undefined : files.read(rescue);
  const done =
    rescue === undefined || rescueText === undefined ? [] : readRescue(rescue, rescueText, dag).done;
  return { run: { dag, account, done: new Set(done.map((node) => node.name)) }, logs };
}

async function readAccount(file: string): Promise<DagmanAccount | undefined> {
  if ((await pathKind(file)) !== 'file') return undefined;
  const log = new DagmanLog();
  for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Infinity }))
    log.add(line);
  return log.account;
}
