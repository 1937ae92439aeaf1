import path from 'node:path';
import type { Env } from '@updraft/base';
import { Fault } from '@updraft/account/fault';
import { sentAuthorities } from '@updraft/pelican/trust';
import { condorFiles } from '../condor-files.ts';

/** A value for a submit file, with `$(…)` and `$$(…)` escaped. */
export function literal(text: string): string {
  if (/[\0\n\r]/.test(text))
    throw new Fault('file-invalid', `a line break is not allowed in a submit file: ${JSON.stringify(text)}`, {
      fix: 'remove it, or put the text in a file that is sent with the job',
    });
  // Macros are `$(X)`, functions `$F(X)`; `$$(X)` is expanded when the job is matched and must survive until then.
  return text.replace(/(\$+)(\w*\()/g, (_, dollars: string, rest: string) =>
    dollars.length === 1 ? `$(DOLLAR)${rest}` : `${dollars.slice(2)}$$(DOLLARDOLLAR)${rest}`,
  );
}

/** A ClassAd string, for attributes of the job; a backslash is literal there, except before a quote. */
export const adString = (text: string): string => `"${literal(text.replaceAll('"', String.raw`\"`))}"`;

/** The value of `arguments`, with all words quoted. */
export const argumentsValue = (args: readonly string[]): string => `"${args.map(quoted).join(' ')}"`;

export const environmentValue = (variables: Record<string, string>): string =>
  argumentsValue(Object.entries(variables).map(([name, value]) => `${name}=${value}`));

const quoted = (arg: string): string => {
  const doubled = literal(arg).replaceAll('"', '""');
  return /^[^\s']+$/.test(arg) ? doubled : `'${doubled.replaceAll("'", "''")}'`;
};

/** Settings of the federation client that apply wherever attempts run. */
const settings = ['UPDRAFT_OSDF_HOST', 'UPDRAFT_FEDERATION_HTTP', 'UPDRAFT_STALL_SECONDS'];
/**
 * The user's settings that the agent needs, under the names that agent and plugin read: HTCondor passes a plugin only
 * variables that begin with its name, or with `PELICAN_` if it serves that scheme. The user's certificate authorities
 * travel with the job, into the folder in which both are started.
 */
export function userEnvironment(env: Env): Record<string, string> {
  const kept: Record<string, string> = {};
  const keep = (name: string, value: string): void => {
    kept[name] = value;
    kept[`PELICAN_${name.replace(/^UPDRAFT_/, '')}`] = value;
  };
  for (const name of settings) if ((env[name] ?? '') !== '') keep(name, env[name] ?? '');
  if (sentAuthorities(env).length > 0) keep('SSL_CERT_FILE', path.basename(condorFiles.authority));
  return kept;
}
