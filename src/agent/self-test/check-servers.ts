import { mapLimited } from '../../base/map-limited.ts';
import { asFault } from '../../fault/fault.ts';
import { createLocator } from '../../federation/locator.ts';
import { parseObjectUrl } from '../../federation/object-url.ts';
import type { ObjectOptions } from '../../federation/object-request.ts';
import type { OrderedData } from '../../job/job.ts';
import { formatSize } from '../../job/units.ts';
import { Brakes } from '../brakes.ts';
import type { Check, Finding } from './finding.ts';
import { reachObject } from './reach-object.ts';

const atOnce = 4;

/**
 * Whether somebody who has the object answers, for everything that the agent itself will fetch: a machine without
 * network is left, and a last object that is missing is known before the first has been fetched.
 */
export const checkServers: Check = async ({ order, world, shared }) => {
  const { env, clock, cwd, uid, version, signal } = world;
  const fetched = order.data.filter(
    ({ url, delivered }) => delivered === undefined && parseObjectUrl(url, env).kind !== 'file',
  );
  if (fetched.length === 0) return [];
  const federation = createLocator({ env, clock, cwd, uid, version });
  const brakes = order.recovery && new Brakes(shared, clock, order.recovery);
  return await mapLimited(fetched, atOnce, (source) => checkObject(source, { federation, signal }, brakes));
};

async function checkObject(
  source: OrderedData,
  options: ObjectOptions,
  brakes: Brakes | undefined,
): Promise<Finding> {
  const name = `data.${source.name}`;
  const { tokenFile } = source;
  const access = { ...options, ...(tokenFile === undefined ? {} : { tokenFile }) };
  try {
    await brakes?.heed(source.url);
    const { server, said, size } = await reachOrBrake(source.url, access, brakes);
    await brakes?.lift(source.url);
    return { name, ok: true, said: `${server} ${said}${size === undefined ? '' : `: ${formatSize(size)}`}` };
  } catch (thrown) {
    options.signal?.throwIfAborted();
    const fault = asFault(thrown);
    if (fault.kind === 'internal') throw thrown;
    return { name, ok: false, said: fault.message, fault };
  }
}

/** An object that is missing everywhere is missing for all jobs of the run. */
async function reachOrBrake(
  url: string,
  access: ObjectOptions,
  brakes: Brakes | undefined,
): ReturnType<typeof reachObject> {
  try {
    return await reachObject(url, access);
  } catch (thrown) {
    if (asFault(thrown).kind === 'object-missing') await brakes?.pull(url);
    throw thrown;
  }
}
