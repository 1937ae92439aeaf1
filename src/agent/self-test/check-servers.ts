import { mapLimited } from '../../base/map-limited.ts';
import { asFault } from '../../fault/fault.ts';
import { createLocator } from '../../federation/locator.ts';
import { parseObjectUrl } from '../../federation/object-url.ts';
import type { ObjectOptions } from '../../federation/object-request.ts';
import type { OrderedData } from '../../job/job.ts';
import { formatSize } from '../../job/units.ts';
import type { Check, Finding } from './finding.ts';
import { reachObject } from './reach-object.ts';

const atOnce = 4;

/**
 * Whether somebody who has the object answers, for everything that the agent itself will fetch: a machine without
 * network is left, and a last object that is missing is known before the first has been fetched.
 */
export const checkServers: Check = async ({ order, world }) => {
  const { env, clock, cwd, uid, version, signal } = world;
  const fetched = order.data.filter(
    ({ url, delivered }) => delivered === undefined && parseObjectUrl(url, env).kind !== 'file',
  );
  if (fetched.length === 0) return [];
  const federation = createLocator({ env, clock, cwd, uid, version });
  return await mapLimited(fetched, atOnce, (source) => checkObject(source, { federation, signal }));
};

async function checkObject(source: OrderedData, options: ObjectOptions): Promise<Finding> {
  const name = `data.${source.name}`;
  const { tokenFile } = source;
  try {
    const { server, said, size } = await reachObject(source.url, {
      ...options,
      ...(tokenFile === undefined ? {} : { tokenFile }),
    });
    return { name, ok: true, said: `${server} ${said}${size === undefined ? '' : `: ${formatSize(size)}`}` };
  } catch (thrown) {
    options.signal?.throwIfAborted();
    const fault = asFault(thrown);
    if (fault.kind === 'internal') throw thrown;
    return { name, ok: false, said: fault.message, fault };
  }
}
