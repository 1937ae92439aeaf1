import { createHash } from 'node:crypto';
import { type Clock, defined } from '@updraft/base';
import { Fault, type FaultKind } from '../fault.ts';
import { NoAnswer, errorText } from '../http/no-answer.ts';
import type { ControlAnswer, Request } from '../http/exchange.ts';
import { Listeners, withBackOff, type OnWait, retryAfterMs, type Try, SharedWork } from './back-off.ts';
import { isUnder, unescapePath, escapePath } from './escape-path.ts';
import type { Verb } from './located.ts';

export interface Director {
  /**
   * Asks where an object is. An answer is valid for its namespace for five minutes; `fresh` asks anyway. While the
   * director is down, its last answer is used, however old.
   */
  ask(
    question: Question,
    options: { fresh: boolean; signal: AbortSignal | undefined; onWait?: OnWait | undefined },
  ): Promise<DirectorAnswer>;
}

interface DirectorOptions {
  request: Request;
  clock: Clock;
  headers: Record<string, string>;
}

interface KnownAnswer {
  answer: DirectorAnswer;
  /** The object that the answer is about. */
  path: string;
  at: number;
}

const ttlMs = 5 * 60_000;
/** A director may know no servers for up to five minutes after its start. */
const timeouts = { silent: 30_000, starting: 5 * 60_000 };
/** If an older answer can be used instead. */
const shortTimeouts = { silent: 3_000, starting: 3_000 };

export function createDirector(options: DirectorOptions): Director {
  const { clock } = options;
  /** By question without its object, then by namespace. */
  const known = new Map<string, Map<string, KnownAnswer>>();
  const shared = new SharedWork<KnownAnswer>();
  const listeners = new Listeners();

  async function learn(question: Question, signal: AbortSignal): Promise<KnownAnswer> {
    const waiting = recall(question) === undefined ? timeouts : shortTimeouts;
    const onWait = listeners.say(keyOf(question));
    const answer = await withBackOff({ clock, signal, onWait }, async () =>
      readDirectorReply(question, await send(options, question, signal), clock.now(), waiting),
    );
    const learnt = { answer, path: question.path, at: clock.monotonic() };
    const namespaces = known.get(keyOf(question)) ?? new Map<string, KnownAnswer>();
    known.set(keyOf(question), namespaces.set(scopeOf(learnt), learnt));
    return learnt;
  }

  function recall(question: Question): KnownAnswer | undefined {
    const namespaces = known.get(keyOf(question))?.values() ?? [];
    const fitting = [...namespaces].filter((one) => answerTo(question, one) !== undefined);
    return fitting.sort((one, other) => scopeOf(other).length - scopeOf(one).length)[0];
  }

  /** Objects in one folder are nearly always in one namespace: the first one's answer serves the others. */
  async function askWithNeighbours(
    question: Question,
    signal: AbortSignal | undefined,
  ): Promise<DirectorAnswer> {
    const folder = question.path.slice(0, question.path.lastIndexOf('/') + 1);
    const ask = (key: string): Promise<KnownAnswer> =>
      shared.run(`${keyOf(question)} ${key}`, signal, (stop) => learn(question, stop));
    try {
      const answer = answerTo(question, await ask(folder));
      if (answer !== undefined) return answer;
    } catch (error) {
      if (!isOfAnother(error, question)) throw error;
    }
    return (await ask(question.path)).answer;
  }

  return {
    async ask(question, { fresh, signal, onWait }) {
      const before = recall(question);
      const answer = before && answerTo(question, before);
      if (answer !== undefined && !fresh && before !== undefined && before.at > clock.monotonic() - ttlMs)
        return answer;
      try {
        return await listeners.during(keyOf(question), onWait, askWithNeighbours(question, signal));
      } catch (error) {
        const isDown = error instanceof Fault && error.kind === 'director-unreachable';
        if (isDown && answer !== undefined) return answer;
        throw error;
      }
    },
  };
}

/** What the answer covers: its namespace, or only the object if it names none that contains the object. */
const scopeOf = ({ answer, path }: KnownAnswer): string =>
  answer.namespace !== undefined && isUnder(path, answer.namespace) ? answer.namespace : path;

function answerTo(question: Question, known: KnownAnswer): DirectorAnswer | undefined {
  return isUnder(question.path, scopeOf(known))
    ? answerFor(known.answer, known.path, question.path)
    : undefined;
}

/** Another object of the folder is missing, found while we waited for its answer; that says nothing about ours. */
function isOfAnother(error: unknown, question: Question): boolean {
  return (
    error instanceof Fault && error.kind === 'object-missing' && error.about !== unescapePath(question.path)
  );
}

async function send(
  options: DirectorOptions,
  question: Question,
  signal: AbortSignal,
): Promise<ControlAnswer | NoAnswer> {
  const { directorUrl, path, query, verb, token } = question;
  const headers =
    token === undefined ? options.headers : { ...options.headers, Authorization: `Bearer ${token}` };
  const url = directorUrl + path + (query === '' ? '' : `?${query}`);
  try {
    return await options.request({ method: verb, url, headers, signal });
  } catch (error) {
    if (error instanceof NoAnswer) return error;
    throw error;
  }
}

function keyOf({ directorUrl, verb, query, token }: Question): string {
  const fingerprint = token === undefined ? '-' : createHash('sha256').update(token).digest('hex');
  return `${directorUrl} ${verb} ${query} ${fingerprint}`;
}

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
function answerFor(answer: DirectorAnswer, from: string, to: string): DirectorAnswer | undefined {
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
  const linked = linkTargets(headers['link'] ?? '').map(httpUrl);
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

/**
 * The targets of a Link header (RFC 8288), which may contain commas and semicolons, as quoted values may. Sorted by
 * `pri`, lowest first; those without one come last, in their order.
 */
export function linkTargets(header: string): string[] {
  const links = [...header.matchAll(/<([^>]*)>((?:"(?:[^"\\]|\\.)*"|[^<"])*)/gs)];
  const priority = ([, , rest = '']: RegExpExecArray): number =>
    Number(/;\s*pri\s*=\s*"?(\d+)/i.exec(rest)?.[1] ?? Number.MAX_SAFE_INTEGER);
  return links.sort((a, b) => priority(a) - priority(b)).map(([, target = '']) => target.trim());
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
interface DirectorTimeouts {
  silent: number;
  /** A director that has just started knows no servers yet. */
  starting: number;
}

/** The director, or a proxy in front of it, is being restarted; or this is not a director. */
const invalidReplyMs = 3_500;

/** Decides what a director's reply means, and whether to ask again. */
function readDirectorReply(
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
