import { escapePath } from './escape-path.ts';
import { parseLinkHeader } from './link-header.ts';

/** What a director says about an object: where it is and what it takes to read it. */
export interface DirectorAnswer {
  /** URLs of the object at its servers, best first. */
  servers: string[];
  /** Prefix all this holds for; undefined when the director does not say. */
  namespace?: string;
  requireToken: boolean;
  /** Base URL to which an object's path is appended to list it. */
  collectionsUrl?: string;
  /** Who may sign tokens for the namespace. */
  issuers: string[];
  /** Who hands out tokens, where the director says so. */
  generation?: { issuer: string; basePath?: string };
}

/** Reads the headers of a director's redirect; undefined when they name no server. */
export function parseDirectorAnswer(headers: Record<string, string>): DirectorAnswer | undefined {
  const servers = serverUrls(headers);
  return servers.length === 0 ? undefined : { servers, ...parseNamespaceHeaders(headers) };
}

/** Reads the `X-Pelican-` headers that tell about a namespace. */
export function parseNamespaceHeaders(headers: Record<string, string>): Omit<DirectorAnswer, 'servers'> {
  const said = pairs(headers['x-pelican-namespace']);
  const namespace = said.get('namespace')?.[0];
  const collectionsUrl = httpUrl(said.get('collections-url')?.[0]);
  const generation = tokenGeneration(headers['x-pelican-token-generation']);
  return {
    requireToken: said.get('require-token')?.[0]?.toLowerCase() === 'true',
    issuers: pairs(headers['x-pelican-authorization']).get('issuer') ?? [],
    ...(namespace?.startsWith('/') === true ? { namespace: escapePath(namespace).replace(/\/+$/, '') } : {}),
    ...(collectionsUrl === undefined ? {} : { collectionsUrl }),
    ...(generation === undefined ? {} : { generation }),
  };
}

/**
 * The same answer for another object of the namespace, or undefined where the servers' URLs do not end in the
 * object's path, so that nothing can be said about another.
 */
export function answerFor(answer: DirectorAnswer, from: string, to: string): DirectorAnswer | undefined {
  if (from === to) return answer;
  const servers: string[] = [];
  for (const server of answer.servers) {
    const url = new URL(server);
    const path = escapePath(url.pathname);
    if (!path.endsWith(from)) return undefined;
    url.pathname = path.slice(0, path.length - from.length) + to;
    servers.push(url.href);
  }
  return { ...answer, servers };
}

function serverUrls(headers: Record<string, string>): string[] {
  const linked = parseLinkHeader(headers['link'] ?? '').map((link) => httpUrl(link.target));
  const named = linked.some((url) => url !== undefined) ? linked : [httpUrl(headers['location'])];
  return [...new Set(named.filter((url) => url !== undefined))];
}

/** Directors put a copy of the token into the URL; it belongs in a header, out of everybody's logs. */
function httpUrl(text: string | undefined): string | undefined {
  const url = URL.parse(text ?? '');
  if (url === null || !['https:', 'http:'].includes(url.protocol)) return undefined;
  url.searchParams.delete('authz');
  url.searchParams.delete('access_token');
  url.username = url.password = url.hash = '';
  return url.href;
}

function tokenGeneration(header: string | undefined): DirectorAnswer['generation'] {
  const said = pairs(header);
  const issuer = said.get('issuer')?.[0];
  const basePath = said.get('base-path')?.[0];
  return issuer === undefined ? undefined : { issuer, ...(basePath === undefined ? {} : { basePath }) };
}

/** `a=1, b=2, a=3`: values may hold commas, as long as no `name=` follows one. */
function pairs(header: string | undefined): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const part of (header ?? '').split(/,\s*(?=[A-Za-z][A-Za-z-]*=)/)) {
    const equals = part.indexOf('=');
    if (equals < 0) continue;
    const name = part.slice(0, equals).trim().toLowerCase();
    found.set(name, [...(found.get(name) ?? []), part.slice(equals + 1).trim()]);
  }
  return found;
}
