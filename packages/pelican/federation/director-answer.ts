import { defined } from '@updraft/base';
import { Fault } from '../fault.ts';
import type { FaultKind } from '../fault.ts';
import { errorText } from '../http/error-text.ts';
import { NoAnswer } from '../http/no-answer.ts';
import type { ControlAnswer } from '../http/request.ts';
import { retryAfterMs, type Try } from './back-off.ts';
import { escapePath, unescapePath } from './escape-path.ts';
import type { Verb } from './located.ts';

/** What a director says about an object: where it is and what is needed to read it. */
export interface DirectorAnswer {
  /** URLs of the object at its servers, best first. */
  servers: string[];
  /** The prefix that this answer covers; undefined if the director does not say. */
  namespace?: string;
  requireToken: boolean;
  /** Base URL to which an object's path is appended to list it. */
  collectionsUrl?: string;
  /** Issuers whose tokens the namespace accepts. */
  issuers: string[];
  /** The issuer of tokens, if the director names one. */
  generation?: { issuer: string; basePath?: string; maxScopeDepth?: number; strategy?: string };
}

/** Reads the headers of a director's redirect; undefined if they name no server. */
function parseDirectorAnswer(headers: Record<string, string>): DirectorAnswer | undefined {
  const servers = serverUrls(headers);
  return servers.length === 0 ? undefined : { servers, ...parseNamespaceHeaders(headers) };
}

/** Reads the `X-Pelican-` headers that describe a namespace. */
export function parseNamespaceHeaders(headers: Record<string, string>): Omit<DirectorAnswer, 'servers'> {
  const said = pairs(headers['x-pelican-namespace']);
  const namespace = said.get('namespace')?.[0];
  const collectionsUrl = httpUrl(said.get('collections-url')?.[0]);
  const generation = tokenGeneration(headers['x-pelican-token-generation']);
  return {
    requireToken: said.get('require-token')?.[0]?.toLowerCase() === 'true',
    issuers: pairs(headers['x-pelican-authorization']).get('issuer') ?? [],
    ...(namespace?.startsWith('/') === true ? { namespace: escapePath(namespace).replace(/\/+$/, '') } : {}),
    ...defined({ collectionsUrl, generation }),
  };
}

/**
 * The same answer for another object of the namespace; undefined if the servers' URLs do not end in the object's path,
 * because then nothing can be inferred.
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

/** Directors put a copy of the token into the URL; it belongs in a header, where it is not logged. */
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
  const depth = Number(said.get('max-scope-depth')?.[0] ?? '');
  const [basePath, strategy] = [said.get('base-path')?.[0], said.get('strategy')?.[0]];
  const maxScopeDepth = depth > 0 ? depth : undefined;
  return issuer === undefined ? undefined : defined({ issuer, basePath, maxScopeDepth, strategy });
}

/** `a=1, b=2, a=3`: values may contain commas, as long as no `name=` follows one. */
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

export interface Link {
  target: string;
  /** Names in lower case; a parameter without a value is the empty string. */
  parameters: Record<string, string>;
}

/**
 * Reads a Link header (RFC 8288): targets may contain commas and semicolons, parameter values may be quoted. Skips what
 * it cannot parse. Sorted by `pri`, lowest first; links without one come last, in their order.
 */
export function parseLinkHeader(header: string): Link[] {
  const links: Link[] = [];
  let at = 0;
  while ((at = header.indexOf('<', at)) >= 0) {
    const end = header.indexOf('>', at);
    if (end < 0) break;
    const target = header.slice(at + 1, end).trim();
    const read = readParameters(header, end + 1);
    links.push({ target, parameters: read.parameters });
    at = read.end;
  }
  return links.sort((a, b) => priority(a) - priority(b));
}

const parameter = /\s*;\s*([^\s=;,"<>]*)\s*(?:=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;,"]*)))?/sy;

function readParameters(header: string, from: number): { parameters: Record<string, string>; end: number } {
  const parameters: Record<string, string> = {};
  let end = from;
  for (;;) {
    parameter.lastIndex = end;
    const match = parameter.exec(header);
    if (match === null) return { parameters, end };
    end = parameter.lastIndex;
    const [, name = '', quoted, token] = match;
    // The first of several parameters of one name counts (RFC 8288, 3.3).
    if (name !== '') parameters[name.toLowerCase()] ??= quoted?.replace(/\\(.)/gs, '$1') ?? token ?? '';
  }
}

function priority(link: Link): number {
  const pri = Number.parseInt(link.parameters['pri'] ?? '', 10);
  return Number.isNaN(pri) ? Number.MAX_SAFE_INTEGER : pri;
}

/** A question to a director. */
export interface Question {
  directorUrl: string;
  verb: Verb;
  /** Escaped path of the object. */
  path: string;
  /** Without the `?`. */
  query: string;
  token?: string;
}

/** How long to keep asking, in milliseconds. */
export interface DirectorTimeouts {
  silent: number;
  /** A director that has just started knows no servers yet. */
  starting: number;
}

/** The director, or a proxy in front of it, is being restarted; or this is not a director. */
const invalidReplyMs = 3_500;

/** Decides what a director's reply means, and whether to ask again. */
export function readDirectorReply(
  question: Question,
  reply: ControlAnswer | NoAnswer,
  now: number,
  timeouts: DirectorTimeouts,
): Try<DirectorAnswer> {
  if (reply instanceof NoAnswer)
    return {
      failed: unreachable(question, `gives no answer: ${reply.message}`, reply),
      retry: reply.mayPass,
      timeoutMs: timeouts.silent,
    };
  if (reply.status >= 300 && reply.status < 400) return readRedirect(question, reply);
  const afterMs = retryAfterMs(reply.headers['retry-after'], now);
  if (reply.status === 429) {
    const failed = unreachable(question, `has just started and knows no servers yet: ${errorTextOf(reply)}`);
    return { failed, retry: true, timeoutMs: timeouts.starting, afterMs };
  }
  const isPelican = (reply.headers['server'] ?? '').startsWith('pelican/');
  const isIngress = !isPelican && reply.status === 404;
  if (reply.status >= 500 || isIngress) {
    const who = isPelican ? '' : ` (something in front of it: ${reply.headers['server'] ?? 'unnamed'})`;
    return {
      failed: unreachable(question, `answers ${reply.status}${who}: ${errorTextOf(reply)}`),
      retry: true,
      timeoutMs: timeouts.silent,
      afterMs,
    };
  }
  return { failed: refusal(question, reply), retry: false, timeoutMs: 0 };
}

function readRedirect(question: Question, reply: ControlAnswer): Try<DirectorAnswer> {
  const answer = parseDirectorAnswer(reply.headers);
  if (answer !== undefined) return { done: answer };
  const failed = unreachable(
    question,
    `sends an unusable answer: status ${reply.status} with no server in its Link or Location`,
  );
  return { failed, retry: true, timeoutMs: invalidReplyMs };
}

function unreachable(question: Question, why: string, cause?: unknown): Fault {
  const host = new URL(question.directorUrl).host;
  return new Fault('director-unreachable', `the director ${host} ${why}`, {
    about: host,
    fix: 'wait and run it again; if it lasts, ask whoever runs the federation',
    cause,
  });
}

function refusal(question: Question, reply: ControlAnswer): Fault {
  const object = unescapePath(question.path);
  const [kind, what, fix] = reasonOf(question, reply, object);
  const host = new URL(question.directorUrl).host;
  return new Fault(kind, `${what} (the director ${host} answers ${reply.status}: ${errorTextOf(reply)})`, {
    about: object,
    fix,
  });
}

function reasonOf(question: Question, reply: ControlAnswer, object: string): [FaultKind, string, string] {
  switch (reply.status) {
    case 404:
      return /no caches can fulfill/i.test(reply.body)
        ? ['servers-unreachable', `no cache can serve ${object}`, 'try again later, or with ?directread']
        : [
            'object-missing',
            `${object} is not in the federation`,
            'check the spelling of the path; list its folder',
          ];
    case 405:
      return question.verb === 'GET' || question.verb === 'PROPFIND'
        ? [
            'servers-unreachable',
            `no origin of ${object} allows this`,
            'read it through the caches, without ?directread',
          ]
        : [
            'url-invalid',
            `the namespace of ${object} does not allow ${question.verb === 'PUT' ? 'uploads' : 'deletes'}`,
            'choose a path in a namespace that allows writes',
          ];
    case 401:
    case 403:
      return ['token-refused', `access to ${object} is refused`, 'get a token for this namespace'];
    case 400:
      return [
        'url-invalid',
        `the director does not understand the request for ${object}`,
        'check the query of the URL',
      ];
    default:
      return ['director-unreachable', 'the director sends an unusable answer', 'wait and run it again'];
  }
}

const errorTextOf = (reply: ControlAnswer): string => errorText(reply.body) || 'no explanation';
