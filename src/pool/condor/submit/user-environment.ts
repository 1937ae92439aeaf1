import path from 'node:path';
import type { Env } from '../../../base/env.ts';

/** Settings of a federation's client that hold for its attempts wherever they run. */
const settings = ['UPDRAFT_OSDF_HOST', 'UPDRAFT_FEDERATION_HTTP', 'UPDRAFT_STALL_SECONDS'];
/** Files that the client reads: they mean something on a machine that shares them, such as a pool's on one machine. */
const files = ['SSL_CERT_FILE'];

/**
 * The user's own settings that the agent needs too, in the names both the agent and the plugin read: HTCondor lets
 * variables through to a plugin that begin with its name, or with `PELICAN_` where it serves that.
 */
export function userEnvironment(env: Env, sharesFiles: boolean): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const name of [...settings, ...(sharesFiles ? files : [])]) {
    const value = env[name];
    if (value === undefined || value === '') continue;
    const said = files.includes(name) ? path.resolve(value) : value;
    kept[name] = said;
    kept[`PELICAN_${name.replace(/^UPDRAFT_/, '')}`] = said;
  }
  return kept;
}
