import path from 'node:path';
import type { Env } from '../../../base/env.ts';
import { Fault } from '../../../fault/fault.ts';

/** A value for a submit file, with `$(…)` and `$$(…)` escaped. */
export function literal(text: string): string {
  if (/[\0\n\r]/.test(text))
    throw new Fault('file-invalid', `a line break is not allowed in a submit file: ${JSON.stringify(text)}`, {
      fix: 'remove it, or put the text in a file that is sent with the job',
    });
  // Macros are `$(X)`, functions `$F(X)`; `$$(X)` is expanded again when the job is matched and must survive until then.
  return text.replace(/(\$+)(\w*\()/g, (_, dollars: string, rest: string) =>
    dollars.length === 1 ? `$(DOLLAR)${rest}` : `${dollars.slice(2)}$$(DOLLARDOLLAR)${rest}`,
  );
}

/** A ClassAd string, for attributes of the job; a backslash is literal there, except before a quote. */
export const adString = (text: string): string => `"${literal(text.replaceAll('"', String.raw`\"`))}"`;

/** The value of `arguments`, with all words quoted. */
export const argumentsValue = (args: readonly string[]): string => `"${args.map(quoted).join(' ')}"`;

/** The value of `environment`. */
export const environmentValue = (variables: Record<string, string>): string =>
  argumentsValue(Object.entries(variables).map(([name, value]) => `${name}=${value}`));

const quoted = (arg: string): string => {
  const doubled = literal(arg).replaceAll('"', '""');
  return /^[^\s']+$/.test(arg) ? doubled : `'${doubled.replaceAll("'", "''")}'`;
};

/** Settings of the federation client that apply wherever attempts run. */
const settings = ['UPDRAFT_OSDF_HOST', 'UPDRAFT_FEDERATION_HTTP', 'UPDRAFT_STALL_SECONDS'];
/** Files that the client reads: usable only if the pool shares this machine's files. */
const files = ['SSL_CERT_FILE'];

/**
 * The user's settings that the agent needs, under the names that agent and plugin read: HTCondor passes a plugin only
 * variables that begin with its name, or with `PELICAN_` if it serves that scheme.
 */
export function userEnvironment(env: Env, sharesFiles: boolean): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const name of [...settings, ...(sharesFiles ? files : [])]) {
    const value = env[name];
    if (value === undefined || value === '') continue;
    const setting = files.includes(name) ? path.resolve(value) : value;
    kept[name] = setting;
    kept[`PELICAN_${name.replace(/^UPDRAFT_/, '')}`] = setting;
  }
  return kept;
}
