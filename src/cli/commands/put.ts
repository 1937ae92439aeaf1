import type { Command } from 'commander';
import { mapLimited } from '@updraft/base';
import type { Cli } from '../cli.ts';
import { openFederation, type ObjectFlags } from '../object/access.ts';
import { TransferBoard, boardMode } from '../object/board.ts';
import { offerLogins } from '../object/offer-login.ts';
import { listUploads, putItem, printPut } from '../object/put-items.ts';
import { throwWorstFault } from '../object/print-results.ts';
import { integerOption } from '../submit/options.ts';

interface Options extends ObjectFlags {
  recursive?: true;
  parallel: number;
  overwrite?: true;
}

export function configure(command: Command, cli: Cli): void {
  command
    .argument('<file...>', 'files, then the URL (a folder if it ends with / or there are several files)')
    .option('-r, --recursive', 'upload folders: what is not there yet')
    .option('-p, --parallel <number>', 'number of parallel transfers', integerOption(99), 2)
    .option('--overwrite', 'replace existing objects')
    .option('--token-file <file>', 'read the token from this file')
    .option('--json', 'print a line of JSON for each file')
    .option('-q, --quiet', 'show no progress')
    .action((words: string[], options: Options) => put(cli, words, options));
}

async function put(cli: Cli, words: string[], options: Options): Promise<void> {
  const items = await listUploads(cli, words, options.recursive === true);
  const federation = openFederation(cli);
  const urls = options.json ? [] : items.map(({ url }) => url);
  await offerLogins(cli, federation, urls, { ...options, verb: 'PUT' });
  const board = new TransferBoard(cli, boardMode(cli, options), items.length);
  const results = await mapLimited(items, options.parallel, async (item) => {
    const result = await putItem(cli, board, item, federation, options);
    printPut(cli, board, result, options);
    return result;
  });
  board.close();
  throwWorstFault(cli, results, {
    json: options.json === true,
    again: 'run the same command again for what is missing; existing objects stay',
  });
  const old = results.filter(({ isOld }) => isOld).length;
  if ((items.length > 1 || options.recursive) && options.json === undefined)
    cli.err(`${items.length - old} uploaded, ${old} already there\n`);
}
