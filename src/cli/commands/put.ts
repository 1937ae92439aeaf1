import type { Command } from 'commander';
import { mapLimited } from '../../base/map-limited.ts';
import type { Cli } from '../cli.ts';
import { openFederation } from '../object/access.ts';
import { TransferBoard, boardMode } from '../object/board.ts';
import { offerLogins } from '../object/offer-login.ts';
import { listUploads, putItem, tellPut } from '../object/put-items.ts';
import { endWith } from '../object/tell-results.ts';
import { wholeNumber } from '../submit/options.ts';
import { counted } from '../text/words.ts';

interface Options {
  recursive?: true;
  parallel: number;
  overwrite?: true;
  tokenFile?: string;
  json?: true;
  quiet?: true;
}

export function configure(command: Command, cli: Cli): void {
  command
    .argument(
      '<file...>',
      'files, then the URL to upload to; a folder if it ends with / or there are several',
    )
    .option('-r, --recursive', 'upload all that is in folders')
    .option('-p, --parallel <number>', 'files at once', wholeNumber(99), 2)
    .option('--overwrite', 'replace objects that exist')
    .option('--token-file <file>', 'file with the token, instead of the usual places')
    .option('--json', 'one line of JSON for each file')
    .option('-q, --quiet', 'no progress')
    .addHelpText('after', example)
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
    tellPut(cli, board, result, options);
    return result;
  });
  board.close();
  endWith(cli, results, {
    json: options.json === true,
    again: 'run the same command again for what is missing; what is there is left alone',
  });
  if (items.length > 1 && options.json === undefined)
    cli.err(`${counted(items.length, 'object')} uploaded\n`);
}

const example = `
An object that exists is left alone unless --overwrite is said, and the same file sent again is no error; caches may go on handing out what they had under that
name, so a new name is better (\`updraft stage\` makes one). What arrived is compared with the file.

Examples:
  $ updraft put model.pt osdf:///inbox/me/model.pt
  $ updraft put --recursive results osdf:///inbox/me/results

Exit codes: 0 all is there; 2 wrong usage, or another object has the name; 93 to 95 token; else those of docs/exit-codes.md.`;
