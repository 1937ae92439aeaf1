import { mkdir, mkdtemp, open, readFile, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { arch, hostname, release, tmpdir, userInfo } from 'node:os';
import path from 'node:path';
import { createReadStream, createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { Command } from 'commander';
import { formatSize, printable, printableLines, shellQuote } from '@updraft/base';
import type { Document } from '@updraft/view/document';
import { textWithoutSecrets } from '@updraft/base/secrets';
import { isEventLog, type LogSource } from '@updraft/htcondor/eventlog';
import { removeTree } from '@updraft/base/disk';
import { Fault } from '@updraft/account/fault';
import type { ReadLogs } from '@updraft/account/report';
import { describeFolder } from '../../stage/folder.ts';
import { writeShard } from '../../stage/shards.ts';
import { type BundleFile, logBundleFiles, runBundleFiles } from '../bundle/bundle-files.ts';
import { KnownWords } from '../bundle/known-words.ts';
import type { Cli } from '../cli.ts';
import { addHelp } from '../help.ts';
import { examine } from '../doctor/examine.ts';
import { readSource, reportSource } from '../report/report-source.ts';
import { askYesNo, printPage } from '../text/phrases.ts';
import { cannotWrite } from '../write-named.ts';

interface BundleOptions {
  output?: string;
  withLog: string[];
  doctor: boolean;
  json?: true;
}

export function configure(command: Command, cli: Cli): void {
  addHelp(command, {
    page: 'bundle.md',
    examples: [
      ['updraft bundle', 'the latest run: plan, journals, report, versions'],
      ['updraft bundle my.log -o for-support.tar.gz', 'an event log'],
      [
        'updraft bundle my.log --with-log job.err',
        'with the end of what a program printed, which you see first',
      ],
    ],
  });
  command
    .argument('[run | log...]', 'a run (default: the latest), or event logs, or a DAG')
    .option('-o, --output <file>', 'the archive (default: updraft-bundle-TIME.tar.gz)')
    .option(
      '--with-log <file>',
      'add the end of what a program printed, after you have seen it (may be repeated)',
      (file: string, before: string[]) => [...before, file],
      [],
    )
    .option('--no-doctor', 'leave out what `updraft doctor` finds on this machine')
    .option('--json', 'print JSON')
    .action((words: string[], options: BundleOptions) => bundle(cli, words, options));
}

async function bundle(cli: Cli, named: readonly string[], options: BundleOptions): Promise<void> {
  const source = await reportSource(cli, named);
  if ('several' in source)
    throw new Fault('usage', 'a bundle is of one run, or of logs', { fix: 'make a bundle of each run' });
  for (const log of 'logs' in source ? source.logs : []) await refuseOther(log);
  const words = await KnownWords.load();
  const read = await readSource(cli, source, {});
  learnNames(cli, words, read);
  const logs = await Promise.all(options.withLog.map((file) => logEnd(cli, file)));
  for (const log of logs) await confirm(cli, log);
  const files = [
    ...('run' in source
      ? await runBundleFiles(source.run.folder, words)
      : logBundleFiles(source.logs, words)),
    ...made({
      'versions.json': json(words.shown(versions(cli))),
      ...(options.doctor && { 'doctor.json': json(words.shown(await examine(cli))) }),
      'report.json': json(words.shown(read.report)),
      ...Object.fromEntries(logs.map(({ text }, at) => [`printed-${at + 1}.txt`, text])),
    }),
  ];
  const sizes: { name: string; bytes: number }[] = [];
  const texts = async function* () {
    for (const { name, text: make } of files) {
      const text = await make();
      sizes.push({ name, bytes: Buffer.byteLength(text) });
      yield { name, text };
    }
  };
  const madeAt = new Date(cli.clock.now()).toISOString().replaceAll(/[-:]|\..*/g, '');
  const file = path.resolve(cli.cwd, options.output ?? `updraft-bundle-${madeAt}.tar.gz`);
  const bytes = await writeBundle(file, texts(), cli.signal);
  const page = [...about(sizes), `${file} (${formatSize(bytes)}, readable by you only)`];
  const next = [`tar -xzOf ${shellQuote(file)} | less`, 'read all of it before you send it'] as const;
  printPage(cli, page, [next], options.json && { file, bytes, files: sizes });
}

/** Refuses a file that is no event log: it would be left out word by word. */
async function refuseOther(log: LogSource): Promise<void> {
  const { name } = log;
  for await (const piece of log.open()) {
    if (isEventLog(piece)) return;
    throw new Fault('usage', `${name} is no event log`, {
      about: name,
      fix:
        `to add the end of what a program printed: --with-log ${shellQuote(name)}; a submit file, or ads of ` +
        'condor_q, you can send beside the bundle, after reading it',
    });
  }
}

/** Who and what the logs name, so that a name is replaced everywhere. */
function learnNames({ env }: Cli, words: KnownWords, { jobs, report }: ReadLogs): void {
  for (const name of [env['USER'], env['LOGNAME'], userInfo().username, path.basename(env['HOME'] ?? '')])
    if (name !== 'root') words.learn('user', name);
  words.learn('host', hostname());
  for (const log of report.logs) words.learn('log', log);
  for (const { owner, node, attempts } of jobs) {
    words.learn('user', owner);
    words.learn('node', node);
    for (const { machine, site, caches = [] } of attempts) {
      words.learn('host', machine);
      words.learn('site', site);
      for (const { name } of caches) words.learn('host', name);
    }
  }
}

const made = (texts: Record<string, string>): BundleFile[] =>
  Object.entries(texts).map(([name, text]) => ({ name, text: () => Promise.resolve(text) }));

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

const versions = ({ version, platform, clock }: Cli) => ({
  ...{ updraft: version, platform, arch: arch(), kernel: release().replace(/[^\d.].*$/, '') },
  time: new Date(clock.now()).toISOString(),
});

const maxLogBytes = 32_768;

interface LogEnd {
  file: string;
  text: string;
}

/** The last lines of a log, without secrets. */
async function logEnd(cli: Cli, file: string): Promise<LogEnd> {
  const bytes = await readFile(path.resolve(cli.cwd, file)).catch((error: unknown) => {
    throw new Fault('file-invalid', `${file} cannot be read`, {
      about: file,
      cause: error,
      fix: 'name a file',
    });
  });
  const text = bytes.subarray(-maxLogBytes).toString('utf8');
  const whole = bytes.length > maxLogBytes ? text.slice(text.indexOf('\n') + 1) : text;
  return { file, text: printableLines(textWithoutSecrets(whole)) };
}

async function confirm(cli: Cli, { file, text }: LogEnd): Promise<void> {
  cli.err(`this of ${printable(file)} would be in the bundle:\n\n${text}\n`);
  const agreed = await askYesNo(cli, 'add it?');
  if (agreed === true) return;
  const fix =
    agreed === undefined ? 'there is no terminal to ask on: read it, and add --yes' : 'leave out --with-log';
  throw new Fault('usage', 'no bundle was made', { fix });
}

const about = (sizes: readonly { name: string; bytes: number }[]): Document => [
  {
    columns: [{ title: 'FILE' }, { title: 'SIZE', align: 'right' }],
    rows: sizes.map(({ name, bytes }) => [name, formatSize(bytes)]),
  },
  '',
  "Of texts, only numbers and the words of Updraft's own pages are in it; … is in place of all others.",
  'Names are replaced: user-1, host-1, site-1, node-1, log-1.',
  '',
];

/** Packs texts into a new archive that only the user can read; returns its size. */
async function writeBundle(
  target: string,
  texts: AsyncIterable<{ name: string; text: string }>,
  signal: AbortSignal,
): Promise<number> {
  await create(target);
  const scratch = await mkdtemp(path.join(await realpath(tmpdir()), 'updraft-bundle-'));
  try {
    const folder = path.join(scratch, 'files');
    for await (const { name, text } of texts) {
      const file = path.join(folder, name);
      await mkdir(path.dirname(file), { recursive: true });
      await writeFile(file, text, { mode: 0o600 });
    }
    const { shard } = await describeFolder(folder);
    const tar = path.join(scratch, 'bundle.tar');
    await writeShard(shard, tar, { signal, onBytes: () => undefined });
    await pipeline(createReadStream(tar), createGzip(), createWriteStream(target), { signal });
    return (await stat(target)).size;
  } catch (error) {
    await rm(target, { force: true });
    throw error;
  } finally {
    await removeTree(scratch);
  }
}

/** Nothing is overwritten, and nobody else can read it, not even while it is written. */
async function create(target: string): Promise<void> {
  try {
    await using archive = await open(target, 'wx', 0o600);
    await archive.chmod(0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST')
      throw cannotWrite(target, error, 'name a file in a folder that you can write to: --output FILE');
    throw new Fault('usage', `${target} exists already`, {
      about: target,
      cause: error,
      fix: 'move it away, or name another file with --output',
    });
  }
}
