import type { Command } from 'commander';
import { Fault } from '@updraft/account/fault';
import { fetchToStream } from '@updraft/pelican/transfer';
import type { Cli } from '../cli.ts';
import { addHelp } from '../help.ts';
import { type ProofOptions, readProof } from '../../preflight/object-proof.ts';
import { accessTo, checkProof, objectName, openFederation } from '../object/access.ts';
import { cacheOptions, type CacheOptions } from '../object/cache-options.ts';
import { packOf } from '../object/get-items.ts';
import { setbackReporter, describeVerified } from '../object/describe-transfer.ts';

interface Options extends ProofOptions, CacheOptions {
  tokenFile?: string;
  quiet?: true;
}

export function configure(command: Command, cli: Cli): void {
  addHelp(command, {
    page: 'objects.md',
    examples: [
      ['updraft cat osdf:///demo/labels.csv | head', 'the first lines'],
      ['updraft cat --staged osdf:///demo/a-1a2b3c4d.tar | tar t', 'verified chunk by chunk'],
    ],
  });
  cacheOptions(command)
    .argument('<url...>', 'objects')
    .option('--manifest <file|url>', 'verify every chunk with this manifest first')
    .option('--staged', 'verify every chunk with the manifest of `updraft stage`')
    .option('--token-file <file>', 'read the token from this file')
    .option('-q, --quiet', 'print only errors')
    .action((urls: string[], options: Options) => cat(cli, urls, options));
}

async function cat(cli: Cli, urls: string[], options: Options): Promise<void> {
  checkProof(options, urls.length);
  // An invalid URL is reported before anything is written.
  for (const url of urls) {
    objectName(url, cli.env);
    if (packOf(url, cli.env) !== undefined)
      throw new Fault('usage', `${url} asks to be unpacked (pack=), but cat writes objects unchanged`, {
        about: url,
        fix: 'fetch it with `updraft get`, or leave pack= out of the URL',
      });
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
