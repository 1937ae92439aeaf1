import path from 'node:path';
import type { Env } from '../../../base/env.ts';
import { Fault } from '../../../fault/fault.ts';

/** A value of a submit description in which `$(…)` and `$$(…)` stand for themselves. */
export function literal(text: string): string {
  if (/[\0\n\r]/.test(text))
    throw new Fault('file-invalid', `HTCondor cannot take a line break here: ${JSON.stringify(text)}`, {
      fix: 'take it out, or write it in a file that is sent with the job',
    });
  // Macros are `$(X)`, functions `$F(X)`; `$$(X)` is looked at again when the job is matched and must be left for then.
  return text.replace(/(\$+)(\w*\()/g, (_, dollars: string, rest: string) =>
    dollars.length === 1 ? `$(DOLLAR)${rest}` : `${dollars.slice(2)}$$(DOLLARDOLLAR)${rest}`,
  );
}

/** A ClassAd string, for attributes of the job; a backslash stands for itself there, except before a quote. */
export const adString = (text: string): string => `"${literal(text.replaceAll('"', String.raw`\"`))}"`;

/** The value of `arguments`, whatever the words hold. */
export const argumentsValue = (args: readonly string[]): string => `"${args.map(quoted).join(' ')}"`;

/** The value of `environment`. */
export const environmentValue = (variables: Record<string, string>): string =>
  argumentsValue(Object.entries(variables).map(([name, value]) => `${name}=${value}`));

const quoted = (arg: string): string => {
  const doubled = literal(arg).replaceAll('"', '""');
  return /^[^\s']+$/.test(arg) ? doubled : `'${doubled.replaceAll("'", "''")}'`;
};

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
