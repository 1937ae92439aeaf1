import { existsSync } from 'node:fs';
import { findProgram } from '../../base/find-program.ts';
import { byJobFile, preferCaches } from '../../federation/cache-choice.ts';
import { cachesOf } from '../../job/caches.ts';
import type { Plan } from '../../job/plan.ts';
import { poolTraits } from '../../job/pool-traits.ts';
import { cachedImage } from '../../pool/image-command.ts';
import type { Cli } from '../cli.ts';
import { openFederation } from './access.ts';
import { TransferBoard, boardMode } from './board.ts';
import { fetchItem } from './fetch-item.ts';
import { printResult } from './print-results.ts';

/** Downloads an image of a federation to where this machine, or a cluster that shares its files, uses it; an existing one stays. */
export async function fetchImage(cli: Cli, { spec, imageTokenFile: tokenFile }: Plan): Promise<void> {
  const { image } = spec.environment;
  const target = image === undefined ? undefined : cachedImage(image, cli.env);
  if (image === undefined || target === undefined || existsSync(target)) return;
  // Where no runtime can start it, the pool reports that.
  const { runsHere } = poolTraits[spec.run.pool];
  if (runsHere && (await findProgram(['apptainer', 'singularity'], cli.env)) === undefined) return;
  cli.err(`fetching the image ${image}, once for this machine\n`);
  // The stdout of a submitting command is about its run.
  const talking: Cli = { ...cli, out: (text) => cli.err(text) };
  const board = new TransferBoard(talking, boardMode(talking, {}), 1);
  const options = {
    federation: preferCaches(openFederation(cli), cachesOf(spec.run), byJobFile),
    unpack: undefined,
    ...(tokenFile !== undefined && { tokenFile }),
  };
  const result = await fetchItem(talking, board, { url: image, target }, options);
  if (result.fault === undefined) printResult(talking, board, result, {});
  board.close();
  if (result.fault !== undefined) throw result.fault;
}
