import { statSync } from 'node:fs';
import { arch, hostname, release, userInfo, version as systemVersion } from 'node:os';
import path from 'node:path';
import type { Command } from 'commander';
import { tried } from '../../base/error-reason.ts';
import { printable } from '../../base/printable.ts';
import { Pseudonyms } from '../../base/pseudonyms.ts';
import { createRedact } from '../../base/redact.ts';
import { shellQuote } from '../../base/shell-quote.ts';
import { textTable } from '../../base/fit-table.ts';
import { fileWithoutSecrets, type SecretCounts } from '../../base/file-without-secrets.ts';
import { filesOf } from '../../dag/dag.ts';
import type { DagRun } from '../../dag/not-submitted.ts';
import { newestRescue } from '../../dag/rescue.ts';
import { logFile } from '../../eventlog/log-sources.ts';
import type { LogSource } from '../../eventlog/scan-log.ts';
import { Fault } from '../../fault/fault.ts';
import { formatSize } from '../../job/units.ts';
import { jobTable } from '../../report/job-table.ts';
import type { LogReport } from '../../report/log-report.ts';
import type { ReadLogs } from '../../report/read-logs.ts';
import { reportPage } from '../../report/report-page.ts';
import { reportText } from '../../report/report-text.ts';
import { sections } from '../../report/sections.ts';
import { isDagFile } from '../adopt/dag-file.ts';
import {
  type BundleFile,
  isLog,
  knownSecrets,
  namedBundleFiles,
  runBundleFiles,
} from '../bundle/bundle-files.ts';
import { writeBundle } from '../bundle/write-bundle.ts';
import type { Cli } from '../cli.ts';
import { examine } from '../doctor/examine.ts';
import { pathKind } from '../find-run.ts';
import { textPage } from '../report/print-report.ts';
import { readSource, reportSource, type ReportSource, sourceName } from '../report/report-source.ts';
import { nextCommands } from '../text/phrases.ts';
import { doctorText } from './doctor.ts';

interface BundleOptions {
  output?: string;
  anonymous?: true;
  doctor: boolean;
  json?: true;
}

export function configure(command: Command, cli: Cli): void {
  command
    .argument(
      '[run | file...]',
      'a run (default: the latest), or event logs, with submit files and outputs to add',
    )
    .option('-o, --output <file>', 'the archive (default: updraft-bundle-NAME.tar.gz)')
    .option('--anonymous', 'also replace names of users and hosts, addresses and your home folder')
    .option('--no-doctor', 'leave out what `updraft doctor` finds on this machine')
    .option('--json', 'print JSON')
    .action((words: string[], options: BundleOptions) => bundle(cli, words, options));
}

async function bundle(cli: Cli, words: readonly string[], options: BundleOptions): Promise<void> {
  const { source, others } = await sourceOf(cli, words);
  if ('several' in source)
    throw new Fault('usage', 'a bundle is of one run, or of logs', { fix: 'make a bundle of each run' });
  const cleaner = new Cleaner(await knownSecrets(cli, 'run' in source ? source.run.folder : undefined));
  const read = cleaner.cleanReport(await readSource(cli, source, {}));
  const name = sourceName(source)
    .replace(/ and \d+ more$/, '')
    .replace(/\.(?:log|gz)$/g, '');
  const files = [
    ...('run' in source
      ? await runBundleFiles(source.run.folder)
      : namedBundleFiles([...source.logs, ...others])),
    ...madeFiles({
      ...reportTexts(cli, name, read),
      ...(options.doctor ? { 'doctor.txt': doctorText(await examine(cli), 100) } : {}),
      'versions.txt': versionsText(cli),
    }),
  ];
  const people = options.anonymous === true ? await learnNames(cli, read, files) : undefined;
  const named = (text: string): string => people?.replace(text) ?? text;
  const sizes: { name: string; bytes: number }[] = [];
  const cleaned = async function* () {
    for (const { name: original, read: readText } of files) {
      const read = await readText();
      // A log may have grown since its names were learned.
      people?.learn(read);
      const [own, text] = [named(cleaner.cleanName(original)), named(cleaner.clean(read))];
      sizes.push({ name: own, bytes: Buffer.byteLength(text) });
      yield { name: own, text };
    }
    yield { name: 'about.txt', text: aboutText(sizes, cleaner.counts, people?.replaced) };
  };
  const file = path.resolve(
    cli.cwd,
    options.output ?? `updraft-bundle-${named(cleaner.cleanName(name))}.tar.gz`,
  );
  const bytes = await writeBundle(file, cleaned(), cli.signal);
  const removed = Object.fromEntries(cleaner.counts);
  const replaced = Object.fromEntries(people?.replaced ?? []);
  if (options.json === true) {
    cli.out(`${JSON.stringify({ file, bytes, files: sizes, removed, replaced })}\n`);
    return;
  }
  cli.out(
    `${aboutText(sizes, cleaner.counts, people?.replaced)}\n${file} (${formatSize(bytes)}, readable by you only)\n`,
  );
  nextCommands(cli, [
    [`tar -xzOf ${shellQuote(file)} | less`, 'read all of it before you send it'],
    people === undefined && ['updraft bundle … --anonymous', 'without names of users and hosts'],
  ]);
}

/** Files that are not logs are added to a bundle of logs, and all others to that of a DAG. */
async function sourceOf(
  cli: Cli,
  words: readonly string[],
): Promise<{ source: ReportSource; others: LogSource[] }> {
  const fullPath = (word: string): string => path.resolve(cli.cwd, word);
  const kinds = await Promise.all(words.map((word) => pathKind(fullPath(word))));
  const areFiles = words.length > 1 && kinds.every((kind) => kind === 'file');
  const files = await Promise.all((areFiles ? words : []).map((word) => logFile(fullPath(word), word)));
  const areLogs = await Promise.all(files.map(isLog));
  const areDags = await Promise.all(files.map(({ name }) => isDagFile(fullPath(name))));
  const dag = words[areDags.indexOf(true)];
  const logs = dag === undefined ? words.filter((_, index) => areLogs[index]) : [dag];
  // Without a log, the fault says what to name.
  const source = await reportSource(cli, logs.length === 0 ? words : logs);
  const own = 'dag' in source ? await filesOfDag(cli, source.dag) : [];
  const known = [...('logs' in source ? source.logs : []), ...own].map(({ name }) => fullPath(name));
  return { source, others: [...own, ...files.filter(({ name }) => !known.includes(fullPath(name)))] };
}

/** What DAGMan reads and writes besides the logs, as far as it is there. */
async function filesOfDag(cli: Cli, { dag, shownAs }: DagRun): Promise<LogSource[]> {
  const isThere = (name: string): boolean =>
    tried(() => statSync(path.resolve(cli.cwd, shownAs(name))))?.isFile() === true;
  const rescues = dag.dagmans.flatMap(({ file }) => newestRescue(file, isThere) ?? []);
  const names = [...filesOf(dag), ...rescues].filter(isThere).map(shownAs);
  return Promise.all(names.map((name) => logFile(path.resolve(cli.cwd, name), name)));
}

const madeFiles = (texts: Record<string, string>): BundleFile[] =>
  Object.entries(texts).map(([name, text]) => ({ name, read: () => Promise.resolve(text) }));

function reportTexts(cli: Cli, name: string, read: ReadLogs): Record<string, string> {
  const { report, jobs, ledger } = read;
  const parts = sections(report, { jobRows: jobTable(jobs, ledger.rows) });
  return {
    // A name that is cut could not be replaced.
    'report.txt': `${reportText(report, parts, { ...textPage(cli), width: Infinity })}\n`,
    'report.json': JSON.stringify(report),
    'report.html': reportPage(`Where the time went: ${name}`, read),
  };
}

const versionsText = ({ version, platform, clock }: Cli): string =>
  [
    `Updraft ${version}`,
    `${platform} ${arch()} ${release()} (${systemVersion()})`,
    `made at ${new Date(clock.now()).toISOString()}`,
    '',
  ].join('\n');

/** A first look at every file, so that a name in one is replaced in all. */
async function learnNames(cli: Cli, { jobs }: ReadLogs, files: readonly BundleFile[]): Promise<Pseudonyms> {
  const { USER = '', LOGNAME = '', HOME = '' } = cli.env;
  const people = new Pseudonyms({
    users: [USER, LOGNAME, userInfo().username, ...jobs.flatMap(({ owner = [] }) => owner)],
    hosts: [hostname(), ...jobs.flatMap(({ attempts }) => attempts.map(({ machine }) => machine))],
    home: HOME,
  });
  for (const file of files) people.learn(await file.read());
  return people;
}

/** How secrets that are known by their value are counted. */
const own = 'your own secrets';

/** Removes secrets by their form and name, and those that are known here by their value. */
class Cleaner {
  readonly counts: SecretCounts = new Map();
  readonly #redact: (text: string) => string;

  constructor(secrets: readonly string[]) {
    this.#redact = createRedact(secrets);
  }

  /** Before it becomes a page, whose markup would disguise secrets. */
  cleanReport(read: ReadLogs): ReadLogs {
    return { ...read, report: JSON.parse(this.clean(JSON.stringify(read.report))) as LogReport };
  }

  /** A path in the bundle, which a shell may have to name. */
  cleanName = (name: string): string => this.clean(name).replaceAll(/\[removed\]|…/g, 'removed');

  clean(text: string): string {
    const kept = fileWithoutSecrets(text, this.counts);
    const lines = kept.split('\n').map((line) => {
      const without = this.#redact(line);
      if (without !== line) this.counts.set(own, (this.counts.get(own) ?? 0) + 1);
      return without;
    });
    return lines.join('\n');
  }
}

function aboutText(
  sizes: readonly { name: string; bytes: number }[],
  removed: SecretCounts,
  replaced: ReadonlyMap<string, number> | undefined,
): string {
  const rows = sizes.map(({ name, bytes }) => [printable(name), formatSize(bytes)]);
  const list = (counts: ReadonlyMap<string, number>) =>
    counts.size === 0
      ? 'nothing'
      : [...counts].map(([what, count]) => `${count} ${what === own ? 'of ' : '× '}${what}`).join(', ');
  return [
    ...textTable([{ title: 'FILE' }, { title: 'SIZE', align: 'right' }], rows),
    '',
    `removed: ${list(removed)}`,
    replaced === undefined
      ? 'names of users and hosts are unchanged (--anonymous replaces them)'
      : `replaced: ${list(replaced)}`,
    '',
  ].join('\n');
}
