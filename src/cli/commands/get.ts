import { type Command, InvalidArgumentError } from 'commander';
import { defined, mapLimited, repacking, shellQuote } from '@updraft/base';
import { usageFault } from '@updraft/account/fault';
import { IdleConnections } from '@updraft/pelican/http';
import { unpackModes } from '../../job/choices.ts';
import type { UnpackerOptions } from '@updraft/archive';
import type { Cli } from '../cli.ts';
import { addHelp } from '../help.ts';
import { cacheOptions, type CacheOptions } from '../object/cache-options.ts';
import { TransferBoard, boardMode } from '../object/board.ts';
import { parseGetArguments, listItems, packOf } from '../object/get-items.ts';
import { hasScheme, manifestSuffix, type ProofOptions, readProof } from '../../preflight/object-proof.ts';
import { checkProof, openFederation, type ObjectFlags, accessTo, objectName } from '../object/access.ts';
import { offerLogins } from '../object/offer-login.ts';
import { throwWorstFault, printResult } from '../object/print-results.ts';
import { integerOption } from '../submit/options.ts';
import { nextCommands } from '../text/phrases.ts';
import { fetchToStream } from '@updraft/pelican/transfer';
import { setbackReporter, describeVerified } from '../object/describe-transfer.ts';

interface Options extends ObjectFlags, ProofOptions, CacheOptions {
  recursive?: true;
  parallel: number;
  unpack?: UnpackerOptions['mode'] | true;
  into?: string;
  overwrite?: true;
}

export function configure(command: Command, cli: Cli): void {
  addHelp(command, 'objects.md', [
    'updraft get osdf:///demo/a.tar osdf:///demo/b.tar data/   # two objects, into data/',
    'updraft get --unpack osdf:///demo/set.tar.gz --into data  # unpack while it arrives',
  ]);
  const swallowed: string[] = [];
  cacheOptions(command)
    // `--unpack URL` takes the URL as the mode, so the list of URLs may be empty.
    .usage('[options] <url...>')
    .argument('[url...]', 'objects (osdf:, pelican:, https:, http:, file:), then the file or folder to write')
    .option('-r, --recursive', 'the URLs are folders; fetch what is not here yet')
    .option('-p, --parallel <number>', 'number of parallel transfers', integerOption(999), 4)
    .option('-u, --unpack [mode]', `unpack while downloading: ${modes.join(', ')}`, (word) =>
      unpackMode(word, swallowed),
    )
    .option('--into <folder>', 'write into this folder (created if missing)')
    .option('--manifest <file|url>', 'verify every chunk with this manifest')
    .option('--staged', 'verify every chunk with the manifest of `updraft stage`')
    .option('--sha256 <hex>', 'expected SHA-256 of the object', sha256)
    .option('--token-file <file>', 'read the token from this file')
    .option('--overwrite', 'replace files with other content')
    .option('--json', 'print a line of JSON for each object')
    .option('-q, --quiet', 'show no progress')
    .action((words: string[], options: Options) => get(cli, [...swallowed, ...words], options));
}

async function get(cli: Cli, words: string[], options: Options): Promise<void> {
  if (words.length === 0) throw usageFault('no URL given', 'name what to fetch: updraft get osdf:///PATH');
  const wanted = parseGetArguments(words);
  const federation = openFederation(cli, options);
  await offerLogins(cli, federation, options.json ? [] : wanted.urls, {
    verb: 'GET',
    tokenFile: options.tokenFile,
  });
  const { recursive = false, json, into, tokenFile } = options;
  const asked = options.unpack === true ? 'auto' : options.unpack;
  const packs = new Set(wanted.urls.map((url) => packOf(url, cli.env)));
  refuseContradiction(packs, asked, recursive);
  const unpack = asked ?? [...packs].find((pack) => pack !== undefined);
  const folder = into ?? (unpack === undefined ? undefined : (wanted.target ?? '.'));
  const target = unpack === undefined ? wanted.target : undefined;
  const how = { recursive, federation, ...defined({ into: folder, tokenFile }) };
  const listed = await listItems(cli, { ...wanted, target }, how);
  // Manifests verify the objects beside them; nothing verifies a manifest.
  const items = options.staged ? listed.filter(({ url }) => !url.endsWith(manifestSuffix)) : listed;
  checkProof(options, items.length);
  if (items.length === 0) cli.err('nothing to fetch: the folder is empty\n');
  // Located while the rest of the program loads; errors show when it is fetched.
  const early = { signal: cli.signal, ...defined({ tokenFile }) };
  for (const { url } of items.slice(0, 1)) void federation.locate(url, early).catch(() => undefined);
  const { fetchItem } = await import('../object/fetch-item.ts');
  const board = new TransferBoard(cli, boardMode(cli, options), items.length);
  using connections = new IdleConnections(cli.clock);
  const fetching = { ...options, federation, connections };
  const results = await mapLimited(items, options.parallel, async (item) => {
    const one = asked ?? packOf(item.url, cli.env);
    const result = await fetchItem(cli, board, item, { ...fetching, unpack: one });
    printResult(cli, board, result, options);
    return result;
  });
  board.close();
  throwWorstFault(cli, results, { json: json === true, again: describeNextTry(unpack !== undefined) });
  const old = results.filter(({ isOld }) => isOld).length;
  if (json === undefined && items.some(({ listed }) => listed !== undefined))
    cli.err(`${items.length - old} fetched, ${old} already here\n`);
  if (json === undefined && options.quiet === undefined && cli.errIsTerminal)
    nextCommands(cli, [
      [`updraft stat ${shellQuote(words[0] ?? '')}`, 'which servers have the object, and its digests'],
    ]);
}

/** `?pack=` is Pelican's --unpack; both may be given if they agree. */
function refuseContradiction(
  packs: ReadonlySet<string | undefined>,
  asked: string | undefined,
  recursive: boolean,
): void {
  const pack = [...packs].find((one) => one !== undefined && one !== asked);
  if (pack === undefined || (asked === undefined && !recursive)) return;
  throw usageFault(
    `pack=${pack} in the URL and ${recursive ? '--recursive' : `--unpack=${asked ?? ''}`} contradict each other`,
    'keep one of the two',
  );
}

const describeNextTry = (unpacked: boolean): string =>
  `run the same command again${unpacked ? ' for what is missing' : ': it resumes where it stopped'}`;

const modes = unpackModes.filter((mode) => mode !== 'none');

/** The value is optional, so the word after `--unpack` may be one of the URLs. */
function unpackMode(word: string, swallowed: string[]): UnpackerOptions['mode'] {
  const mode = modes.find((each) => each === word);
  if (mode !== undefined) return mode;
  if (!hasScheme(word)) {
    const fix = repacking(`data.${word}`)?.fix;
    throw new InvalidArgumentError(fix ?? `it must be one of ${modes.join(', ')}.`);
  }
  swallowed.push(word);
  return 'auto';
}

function sha256(text: string): string {
  if (!/^[0-9a-fA-F]{64}$/.test(text)) throw new InvalidArgumentError('it must be 64 hexadecimal digits.');
  return text.toLowerCase();
}

interface CatOptions extends ProofOptions, CacheOptions {
  tokenFile?: string;
  quiet?: true;
}

/** `updraft cat`. */
export function configureCat(command: Command, cli: Cli): void {
  addHelp(command, 'objects.md', [
    'updraft cat osdf:///demo/labels.csv | head                # the first lines',
    'updraft cat --staged osdf:///demo/a-1a2b3c4d.tar | tar t  # verified chunk by chunk',
  ]);
  cacheOptions(command)
    .argument('<url...>', 'objects')
    .option('--manifest <file|url>', 'verify every chunk with this manifest first')
    .option('--staged', 'verify every chunk with the manifest of `updraft stage`')
    .option('--token-file <file>', 'read the token from this file')
    .option('-q, --quiet', 'print only errors')
    .action((urls: string[], options: CatOptions) => cat(cli, urls, options));
}

async function cat(cli: Cli, urls: string[], options: CatOptions): Promise<void> {
  checkProof(options, urls.length);
  // An invalid URL is reported before anything is written.
  for (const url of urls) {
    objectName(url, cli.env);
    if (packOf(url, cli.env) !== undefined)
      throw usageFault(
        `${url} asks to be unpacked (pack=), but cat writes objects unchanged`,
        'fetch it with `updraft get`, or leave pack= out of the URL',
        url,
      );
  }
  const locator = openFederation(cli, options);
  const say = (line: string): void => (options.quiet ? undefined : cli.err(`${line}\n`));
  for (const url of urls) {
    const access = accessTo(cli, locator, options);
    const proof = await readProof(cli, url, options, access);
    const reportSetback = setbackReporter(url, url, say);
    const fetched = await fetchToStream(url, (chunk) => cli.outBytes(chunk), {
      ...access,
      ...proof,
      onEvent: (event) => (event.kind === 'progress' ? undefined : reportSetback(event)),
    });
    say(`${url}: ${describeVerified(fetched.verified, fetched.missing)}`);
  }
}
