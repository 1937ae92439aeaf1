import { mkdir, mkdtemp, open, readFile, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { arch, hostname, release, tmpdir, userInfo } from 'node:os';
import path from 'node:path';
import { createReadStream, createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { Command } from 'commander';
import { formatSize, printable, printableLines, shellQuote } from '@updraft/base';
import type { Document } from '@updraft/view/document';
import { textWithoutSecrets, withoutSecrets } from '@updraft/base/secrets';
import { isEventLog, type LogSource, type LogEvent, logFile, scanLog } from '@updraft/htcondor/eventlog';
import { removeTree, walkFiles } from '@updraft/base/disk';
import { Fault, usageFault } from '@updraft/account/fault';
import type { ReadLogs } from '@updraft/account/report';
import { describeFolder } from '../../stage/folder.ts';
import { writeShard } from '../../stage/shards.ts';
import type { Cli } from '../cli.ts';
import { addHelp } from '../help.ts';
import { examine } from './doctor.ts';
import { readSource, reportSource } from '../report/report-source.ts';
import { askYesNo, printPage } from '../text/phrases.ts';
import { cannotWrite } from '../write-named.ts';
import { createInterface } from 'node:readline';
import { machineOf, siteOf } from '@updraft/account/history';
import type { Ad } from '@updraft/htcondor/classad';
import type { Plan } from '../../job/plan.ts';
import { attemptFiles, runFiles } from '@updraft/account/run-folder';
import { decode, decodeLive } from '@updraft/account/journal';
import { poolKinds } from '../../pool/open-pool.ts';
import { readAsset } from '../../job/assets.ts';

interface BundleOptions {
  output?: string;
  withLog: string[];
  doctor: boolean;
  json?: true;
}

export function configure(command: Command, cli: Cli): void {
  addHelp(command, 'bundle.md', [
    'updraft bundle                               # the latest run: plan, journals, report, versions',
    'updraft bundle my.log -o for-support.tar.gz  # an event log',
    'updraft bundle my.log --with-log job.err     # with the end of what a program printed, which you see first',
  ])
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
    throw usageFault('a bundle is of one run, or of logs', 'make a bundle of each run');
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
    throw usageFault(
      `${name} is no event log`,
      `to add the end of what a program printed: --with-log ${shellQuote(name)}; a submit file, or ads of ` +
        'condor_q, you can send beside the bundle, after reading it',
      name,
    );
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
  updraft: version,
  platform,
  arch: arch(),
  kernel: release().replace(/[^\d.].*$/, ''),
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
  throw usageFault('no bundle was made', fix);
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

/** A file of a bundle. It is made of what we understand: nothing is copied. */
interface BundleFile {
  /** Its path in the bundle. */
  name: string;
  text: () => Promise<string>;
}

const lines = (values: readonly unknown[]): string =>
  values.map((value) => `${JSON.stringify(value)}\n`).join('');

/** Plan, journals and event log of a run. */
async function runBundleFiles(folder: string, words: KnownWords): Promise<BundleFile[]> {
  const journal = new RegExp(
    `^(?:${runFiles.journal}|${runFiles.jobs}/\\d+/attempt-\\d+/${attemptFiles.journal})$`,
  );
  const plan = new RegExp(`^(?:${runFiles.rounds}/\\d+/)?${runFiles.plan}$`);
  return (await walkFiles(folder)).flatMap((name): BundleFile[] => {
    const file = path.join(folder, name);
    const as = (text: () => Promise<string>, own = name): BundleFile[] => [{ name: `run/${own}`, text }];
    if (plan.test(name)) return as(() => planText(file, words));
    if (journal.test(name)) return as(() => journalText(file, words));
    const isLog = Object.values(poolKinds).some(({ eventLog }) => eventLog === name);
    return isLog ? as(async () => eventsText(await logFile(file), words), `${name}.jsonl`) : [];
  });
}

/** Event logs that a user named, or that a DAG has. */
const logBundleFiles = (logs: readonly LogSource[], words: KnownWords): BundleFile[] =>
  logs.map((log, at) => ({ name: `log-${at + 1}.jsonl`, text: () => eventsText(log, words) }));

/** What was requested and where it runs; of the training, no variable. */
async function planText(file: string, words: KnownWords): Promise<string> {
  const { spec, disk, jobs, ...plan } = JSON.parse(await readFile(file, 'utf8')) as Plan;
  const { environment, resources, run, recovery } = spec;
  const { command, outputs, check, checkpoint } = spec.train;
  const train = { command, outputs, check, checkpoint };
  const data = plan.data.map((source) => ({ ...source, url: source.url.replace(/[?#].*/s, '') }));
  const known = { train, data, environment, resources, run, recovery, disk, jobs: jobs.length };
  return `${JSON.stringify(words.shown(known), null, 2)}\n`;
}

/** The entries that we know; any other line is only counted. */
async function journalText(file: string, words: KnownWords): Promise<string> {
  let [text, leftOut] = ['', 0];
  for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
    const entry = decode(line);
    if (typeof entry === 'string') leftOut += 1;
    else text += lines([words.shown(entry)]);
  }
  return leftOut === 0 ? text : text + lines([{ leftOut }]);
}

/** Of a longer log, the bundle has at least this number of events of its end. */
const maxEvents = 100_000;

/** The events of a log as we read them. */
async function eventsText(log: LogSource, words: KnownWords): Promise<string> {
  const shown: string[] = [];
  let leftOut = 0;
  await scanLog(log, (event) => {
    if (shown.push(lines([eventShown(event, words)])) < 2 * maxEvents) return;
    leftOut += shown.splice(0, maxEvents).length;
  });
  return lines(leftOut === 0 ? [] : [{ leftOut }]) + shown.join('');
}

interface Place {
  slot?: string;
  host?: string;
  attributes?: Ad;
}

function eventShown({ kind, cluster, proc, time, details }: LogEvent, words: KnownWords): unknown {
  const { slot, host, attributes, ...rest } = details as Place & Record<string, unknown>;
  const machine = machineOf(slot, host);
  words.learn('host', machine);
  const base = {
    kind,
    job: `${cluster}.${proc}`,
    time: time === undefined ? undefined : new Date(time).toISOString(),
    ...(machine === '' ? {} : { host: words.text(machine) }),
    ...(attributes && { attributes: adShown(attributes, words) }),
  };
  if (kind === 'attribute-update' && !attributeNames.has(String(rest['name']))) return base;
  const live = kind === 'generic' ? decodeLive(String(rest['text'])) : undefined;
  return { ...base, ...(words.shown(live ?? rest) as object) };
}

/** Attributes that say what a job requested, used and met; none that a user writes. */
const attributeNames = new Set(
  (
    'ClusterId ProcId JobStatus LastJobStatus JobUniverse QDate EnteredCurrentStatus JobCurrentStartDate ' +
    'CompletionDate RemoteWallClockTime CumulativeSlotTime ExitCode ExitBySignal ExitSignal ' +
    'HoldReason HoldReasonCode HoldReasonSubCode LastHoldReason LastHoldReasonCode LastHoldReasonSubCode ' +
    'VacateReason VacateReasonCode VacateReasonSubCode RemoveReason ReleaseReason NumHolds NumShadowStarts ' +
    'NumJobStarts NumJobReconnects RequestCpus RequestGpus RequestMemory RequestDisk Cpus Gpus Memory Disk ' +
    'CpusUsage GpusUsage MemoryUsage DiskUsage ResidentSetSize GPUs_DeviceName GPUs_Capability GPUs_DriverVersion ' +
    'GLIDEIN_ResourceName GLIDEIN_Site CondorVersion'
  ).split(' '),
);

function adShown(ad: Ad, words: KnownWords): unknown {
  words.learn('site', siteOf(ad));
  for (const name of ['Owner', 'User', 'AcctGroupUser']) words.learn('user', ownerIn(ad[name]));
  const known = Object.entries(ad).filter(([name]) => attributeNames.has(name));
  return Object.fromEntries(known.map(([name, value]) => [name, words.shown(value)]));
}

const ownerIn = (value: unknown): string | undefined =>
  typeof value === 'string' ? value.replace(/@.*$/, '') : undefined;

/** Words of HTCondor's messages, and names of fields, that are on no page of ours. */
const moreWords =
  'allocated arm64 assertion assigned attempting boot checkpointed closed command completed consider couldn dataflow ' +
  'directory disconnected due elapsed estimate exception exe exec exited expression fired generic globus grid ' +
  'heartbeat image initiated instance interruption kb lease lib libexec local master megabytes mnt negotiator oom ' +
  'paused percent proven receive receiving reconnected recounted reliable remote requeued reserve resident ' +
  'resubmitting resumed rungs scaled scales setup shadow siblings skipped startd starter submitting terminated ' +
  'termination timer trigger unexpectedly unknown unspecified unsuspended usages vacated var variants violation ' +
  'void x64';

/** Names are replaced by these, with a number: the same name always by the same one. */
type NameKind = 'host' | 'site' | 'user' | 'node' | 'log';

const separators = /([\s/=,;|&?()"'`<>[\]{}*#$%^~\\]+)/;
const number = /^[-+]?\d{1,15}(?:\.\d+)?(?:e[-+]?\d+)?(?:[kmgt]i?b?|b|s|ms|h|min|d|x)?$/i;
const version = /^v?\d+(?:\.\d+){1,2}$/;
const date = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[-+]\d\d:?\d\d)?)?$/;
const time = /^\d\d?:\d\d(?::\d\d(?:\.\d+)?)?$/;
const slot = /^(slot\d[\d_]*)@(.+)$/;
const port = /^(.+):(\d{1,5})$/;
const ipAddress = /^\d{1,3}(?:\.\d{1,3}){3}$/;
/** The servers of the OSDF are known to everybody, and support must know which one it was. */
const publicHost = /^(?:[\w-]+\.)*osg-htc\.org$/i;
const maxRemembered = 100_000;

/**
 * What may leave the machine of any text: numbers, times, and words that Updraft's own pages have. Everything else is
 * replaced by `…`, and a name that was learned by its pseudonym. So no rule has to recognize a secret.
 */
class KnownWords {
  readonly #words: Set<string>;
  readonly #names = new Map<string, string>();
  readonly #counts = new Map<NameKind, number>();
  readonly #remembered = new Map<string, string>();

  constructor(pages: string) {
    const text = pages.toLowerCase();
    this.#words = new Set([
      ...text.split(separators).map((piece) => piece.replaceAll(/^[-+.:@]+|[.:!-]+$/g, '')),
      ...(text.match(/[a-z]{2,}/g) ?? []),
      ...moreWords.split(' '),
    ]);
  }

  static async load(): Promise<KnownWords> {
    const index = (await readAsset('docs/README.md')) ?? '';
    const names = [...index.matchAll(/\]\(([\w/-]+)\.md\)/g)].map(([, name = '']) => name);
    const pages = await Promise.all(names.map((name) => readAsset(`docs/${name}.md`)));
    return new KnownWords([index, ...pages].join('\n'));
  }

  /** From now on, this name is shown as `host-1`, or the like. */
  learn(kind: NameKind, name: string | undefined): void {
    const key = name?.toLowerCase() ?? '';
    if (key.length < 2 || this.#names.has(key) || (kind === 'host' && publicHost.test(key))) return;
    const count = (this.#counts.get(kind) ?? 0) + 1;
    this.#counts.set(kind, count);
    this.#names.set(key, `${kind}-${count}`);
    this.#remembered.clear();
    if (kind === 'user') this.#words.delete(key);
  }

  text(text: string): string {
    const known = this.#names.get(text.toLowerCase()) ?? this.#remembered.get(text);
    if (known !== undefined) return known;
    const pieces = withoutSecrets(text).split(separators);
    const shown = pieces
      .map((piece, at) => {
        if (at % 2 === 1 || piece === '') return piece;
        return isName(pieces, at) ? (this.#names.get(piece.toLowerCase()) ?? '…') : this.#piece(piece);
      })
      .join('')
      .replaceAll(/…(?:[\s/=&?]*…)+/g, '…');
    if (this.#remembered.size < maxRemembered) this.#remembered.set(text, shown);
    return shown;
  }

  #piece(piece: string): string {
    const [, before = '', middle = '', after = ''] = /^([-+.:@]*)(.*?)([.:!-]*)$/s.exec(piece) ?? [];
    const name = this.#names.get(middle.toLowerCase());
    if (middle === '' || middle === '…') return piece;
    return before + (name ?? this.#place(middle) ?? (this.#isKnown(middle) ? middle : '…')) + after;
  }

  /** `slot1_2@host`, `host:8443`. */
  #place(piece: string): string | undefined {
    const [, own, at] = slot.exec(piece) ?? [];
    if (own !== undefined) return `${own}@${this.#names.get(at?.toLowerCase() ?? '') ?? '…'}`;
    const [, host = piece, number] = port.exec(piece) ?? [];
    if (ipAddress.test(host)) this.learn('host', host);
    const shown = publicHost.test(host) ? host : this.#names.get(host.toLowerCase());
    return shown === undefined ? undefined : shown + (number === undefined ? '' : `:${number}`);
  }

  #isKnown(piece: string): boolean {
    if (this.#words.has(piece.toLowerCase())) return true;
    if ([number, version, date, time].some((form) => form.test(piece))) return true;
    // Not with a dot or a digit: hosts are called `data.example` and `gpu-42`.
    return /^[A-Za-z]+(?:[-_:+][A-Za-z]+)*$/.test(piece) && this.#areWords(piece);
  }

  /** Also `MemoryUsage`. */
  #areWords(piece: string): boolean {
    const isWord = (word: string): boolean => this.#words.has(word.toLowerCase());
    return piece
      .split(/[-_:+]/)
      .every((part) => isWord(part) || part.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+/g)?.every(isWord));
  }

  /** The same for every text in a value, and for the names of its fields. */
  shown(value: unknown): unknown {
    if (typeof value === 'string') return this.text(value);
    if (Array.isArray(value)) return value.map((one: unknown) => this.shown(one));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, one]) => {
        if (typeof one === 'string' && isHostKey.test(key)) this.learn('host', hostIn(one));
        return [this.text(key), this.shown(one)];
      }),
    );
  }
}

const isHostKey = /^(?:host|server|url|discoveryHost)$/;
/** The host of a URL, or what is alone. */
const hostIn = (text: string): string => /^(?:[\w+.-]+:\/\/)?(?:[^/?#@]*@)?([^/?#:@]*)/.exec(text)?.[1] ?? '';

/** Whether a piece can only be the name of a user: `/home/ann`, `(by user ann)`. */
function isName(pieces: readonly string[], at: number): boolean {
  const [first, before] = [pieces[at - 4]?.toLowerCase(), pieces[at - 2]?.toLowerCase()];
  if (pieces[at - 1] === '/') return before === 'home' || before === 'users';
  return first === 'by' && before === 'user';
}
