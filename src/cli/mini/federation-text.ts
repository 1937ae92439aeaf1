import { shellQuote } from '../../base/shell-quote.ts';
import type { KeptState } from '../../mini/federation/kept-federation.ts';
import type { Cli } from '../cli.ts';

/** Prints what a user needs to talk to the federation: lines for the shell on stdout, examples on stderr. */
export function showFederation(cli: Cli, state: KeptState, { json }: { json?: true }): void {
  if (json) {
    cli.out(`${JSON.stringify(publicState(state))}\n`);
    return;
  }
  for (const [name, value] of variables(state)) cli.out(`export ${name}=${shellQuote(value)}\n`);
  cli.err('\n');
  const rows: [string, string][] = [
    ...[state.director, state.origin, ...state.caches].map(({ name, url, httpUrl }): [string, string] => [
      name,
      `${url}   ${httpUrl}`,
    ]),
    ...state.namespaces.map(({ prefix, folder, public: open, writable }): [string, string] => [
      prefix,
      `${folder} (${open ? 'public' : 'with a token'}${writable ? ', writable' : ''})`,
    ]),
  ];
  const width = Math.max(...rows.map(([name]) => name.length)) + 2;
  for (const [name, what] of rows) cli.err(`  ${name.padEnd(width)}${what}\n`);
  cli.err('\ntry:\n');
  for (const line of examples(state)) cli.err(`  ${line}\n`);
}

/** All but the key of the admin door. */
export function publicState(state: KeptState): object {
  return { ...state, admin: { url: state.admin.url } };
}

function variables(state: KeptState): [string, string][] {
  const token = state.namespaces.find(({ tokenFile }) => tokenFile !== undefined)?.tokenFile;
  return [
    ['UPDRAFT_OSDF_HOST', state.discoveryHost],
    ['SSL_CERT_FILE', state.caFile],
    ...(token === undefined ? [] : [['BEARER_TOKEN_FILE', token] as [string, string]]),
  ];
}

/** The token goes through a pipe: what stands on a command line, every user of the machine can read. */
function examples({ discoveryUrl, caFile, namespaces }: KeptState): string[] {
  const curl = `curl -L --cacert ${shellQuote(caFile)}`;
  return namespaces.map(({ prefix, public: open, tokenFile }) => {
    const url = `${discoveryUrl}${prefix}/FILE`;
    if (open || tokenFile === undefined) return `${curl} ${url}`;
    return `sed 's/^/Authorization: Bearer /' ${shellQuote(tokenFile)} | ${curl} -H @- ${url}`;
  });
}
