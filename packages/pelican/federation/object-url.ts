import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { archiveKinds, defined, type Env, nearest, repacking } from '@updraft/base';
import { messageWithoutSecrets } from '@updraft/base/secrets';
import { Fault } from '../fault.ts';
import { escapePath, unescapePath } from './escape-path.ts';

interface Named {
  /** The user's URL, safe for logs: no password, no signature. */
  text: string;
  /** Name before the `+` of the scheme: which of HTCondor's credentials to use. */
  credential?: string;
}

export interface FederatedUrl extends Named, ObjectQuery {
  kind: 'federated';
  /** `host[:port]` that serves the federation's metadata. */
  discoveryHost: string;
  /** It is the OSDF, or the user's replacement for it, as opposed to a federation that only a URL names. */
  isUsersOwn: boolean;
  /** Path in the federation, escaped, from `/`, without a trailing slash. */
  path: string;
}

/** An object with one address outside of any federation. */
export interface PlainUrl extends Named {
  kind: 'plain';
  href: string;
}

export interface FileUrl extends Named {
  kind: 'file';
  file: string;
}

export type ObjectUrl = FederatedUrl | PlainUrl | FileUrl;

const schemes = ['osdf', 'stash', 'pelican', 'https', 'http', 'file'];
const osdfHost = 'osg-htc.org';

/**
 * Parses the URL of an object, or throws a Fault that says what is wrong with it. In `osdf:`, `stash:` and `pelican:`
 * URLs `?` starts the query, but `#` is part of the name: objects have no fragments.
 */
export function parseObjectUrl(url: string, env: Env): ObjectUrl {
  const text = url.trim();
  const [, prefixed, rest] = /^([A-Za-z][A-Za-z0-9+._-]*):(.*)$/s.exec(text) ?? [];
  if (prefixed === undefined || rest === undefined) throw noScheme(text);
  const { scheme, credential } = splitScheme(prefixed);
  const named = { text: messageWithoutSecrets(text), ...defined({ credential }) };
  switch (scheme) {
    case 'osdf':
    case 'stash':
      return {
        kind: 'federated',
        ...named,
        discoveryHost: discoveryHostOfOsdf(env),
        isUsersOwn: true,
        ...ofOsdf(text, rest),
      };
    case 'pelican': {
      const place = ofPelican(text, rest);
      return { kind: 'federated', ...named, ...place, isUsersOwn: place.discoveryHost === hostOfOsdf(env) };
    }
    case 'https':
    case 'http':
      return { kind: 'plain', ...named, href: plainHref(text, `${scheme}:${rest}`) };
    case 'file':
      return { kind: 'file', ...named, file: localFile(text, rest) };
    default:
      throw unknownScheme(text, scheme, rest);
  }
}

/** Whether a token named for one object may be used for another: of the same federation, or on the same host. */
export const isSameHome = (one: string, other: string): boolean => homeOf(one) === homeOf(other);

function homeOf(url: string): string | undefined {
  const [, scheme = '', host = ''] = /^(?:[^:/]*\+)?([A-Za-z]+):\/*([^/?]*)/.exec(url) ?? [];
  return /^(?:osdf|stash)$/i.test(scheme) ? 'osdf' : `${scheme}://${host}`.toLowerCase();
}

/** Everything before the last `+` names a credential; HTCondor writes its `.` as `_`, since schemes have no `_`. */
function splitScheme(prefixed: string): { scheme: string; credential: string | undefined } {
  const plus = prefixed.lastIndexOf('+');
  const scheme = prefixed.slice(plus + 1).toLowerCase();
  return { scheme, credential: plus < 1 ? undefined : prefixed.slice(0, plus).replaceAll('_', '.') };
}

/** `osdf://a/b` and `osdf:///a/b` are the same object: an OSDF URL has no host. */
function ofOsdf(text: string, rest: string): { path: string } & ObjectQuery {
  const [pathname, query] = splitQuery(rest);
  return { path: federationPath(text, pathname), ...parseObjectQuery(text, query) };
}

function ofPelican(text: string, rest: string): { discoveryHost: string; path: string } & ObjectQuery {
  const [, host = '', tail = ''] = /^\/\/([^/?]*)(.*)$/s.exec(rest) ?? [];
  if (host === '')
    throw invalid(text, 'names no federation', 'write pelican://HOST/PATH, or osdf:///PATH for the OSDF');
  const [pathname, query] = splitQuery(tail);
  return {
    discoveryHost: checkedHost(text, host),
    path: federationPath(text, pathname),
    ...parseObjectQuery(text, query),
  };
}

const hostOfOsdf = (env: Env): string => env['UPDRAFT_OSDF_HOST'] || osdfHost;

function discoveryHostOfOsdf(env: Env): string {
  const host = hostOfOsdf(env);
  return checkedHost(`UPDRAFT_OSDF_HOST=${host}`, host);
}

function checkedHost(text: string, host: string): string {
  const parsed = URL.parse(`https://${host}/`);
  if (parsed === null || parsed.pathname !== '/' || parsed.search !== '' || parsed.hash !== '')
    throw invalid(
      text,
      `has no valid host and port: '${messageWithoutSecrets(host)}'`,
      'write HOST or HOST:PORT; IPv6 in brackets: [::1]:8444',
    );
  if (parsed.username !== '' || parsed.password !== '') throw passwordInUrl(text);
  return parsed.host;
}

function federationPath(text: string, pathname: string): string {
  const segments = escapePath(pathname)
    .split('/')
    .filter((segment) => segment !== '');
  if (segments.includes('..') || segments.includes('.'))
    throw invalid(text, "has a '.' or '..' in its path", 'write the path without them');
  if (segments.some((segment) => segment.includes('%00'))) throw invalid(text, 'has a NUL byte in its path');
  if (segments.length === 0) throw invalid(text, 'names no object', 'add the path of the object');
  return `/${segments.join('/')}`;
}

function plainHref(text: string, address: string): string {
  const parsed = URL.parse(address);
  if (parsed === null || !/^https?:\/\/[^/]/i.test(address))
    throw invalid(text, 'is not a valid URL', 'write https://HOST/PATH');
  if (parsed.username !== '' || parsed.password !== '') throw passwordInUrl(text);
  parsed.hash = '';
  return parsed.href;
}

function localFile(text: string, rest: string): string {
  const [, host = '', pathname = rest] = /^\/\/([^/]*)(.*)$/s.exec(rest) ?? [];
  if ((host !== '' && host !== 'localhost') || !path.isAbsolute(unescapePath(pathname)))
    throw invalid(text, 'does not name a file on this machine', 'write file:///ABSOLUTE/PATH');
  return fileURLToPath(`file://${escapePath(pathname)}`);
}

function splitQuery(rest: string): [string, string] {
  const mark = rest.indexOf('?');
  return mark < 0 ? [rest, ''] : [rest.slice(0, mark), rest.slice(mark + 1)];
}

function invalid(text: string, what: string, fix?: string): Fault {
  const about = messageWithoutSecrets(text);
  return new Fault('url-invalid', `${about} ${what}`, { about, fix });
}

const passwordInUrl = (text: string): Fault =>
  invalid(text, 'has a user name or password in it', 'remove it and use a token file instead');

function noScheme(text: string): Fault {
  const fix = text.startsWith('/')
    ? `write osdf://${text} or file://${text}`
    : 'write osdf:///PATH, pelican://HOST/PATH or https://HOST/PATH';
  return invalid(text === '' ? "''" : text, 'has no scheme', fix);
}

function unknownScheme(text: string, scheme: string, rest: string): Fault {
  const meant = nearest(scheme, schemes);
  const fix =
    meant === undefined
      ? `use one of ${schemes.map((s) => `${s}:`).join(' ')}`
      : `did you mean ${meant}:${messageWithoutSecrets(rest)}?`;
  return invalid(text, `has the unknown scheme '${scheme}'`, fix);
}

const packKinds = ['auto', ...archiveKinds] as const;
export type PackKind = (typeof packKinds)[number];

/** The options in the query of a federation URL. */
export interface ObjectQuery {
  /** The URL names a collection: take everything in it. */
  recursive: boolean;
  /** Unpack after getting, pack before putting. */
  pack?: PackKind;
  /** Bypass the caches and go to the origin. */
  direct: boolean;
  /** The part of the query that is for the director, as `a&b=c`. */
  directorQuery: string;
}

const known = new Set(['recursive', 'pack', 'directread', 'prefercached', 'skipstat']);
/** These two concern only the client; sending them to the director would only split its answers. */
const ours = new Set(['recursive', 'pack']);

/** Parses `recursive`, `pack`, `directread`, `prefercached`, `skipstat`; others go to the director unchanged. */
function parseObjectQuery(url: string, query: string): ObjectQuery {
  const parts = query.split('&').filter((part) => part !== '');
  const values = new Map<string, string>();
  for (const part of parts) {
    const [name = '', value = ''] = part.split('=', 2);
    if (known.has(name) && values.has(name))
      throw invalid(url, `has '${name}' twice in its query`, 'keep only one of them');
    values.set(name, value);
  }
  conflict(url, values, 'pack', 'recursive');
  conflict(url, values, 'directread', 'prefercached');
  const pack = packKind(url, values.get('pack'));
  return {
    recursive: values.has('recursive'),
    direct: values.has('directread'),
    directorQuery: parts.filter((part) => !ours.has(part.split('=', 1)[0] ?? '')).join('&'),
    ...defined({ pack }),
  };
}

function packKind(url: string, value: string | undefined): PackKind | undefined {
  if (value === undefined) return undefined;
  const kind = packKinds.find((known) => known === value);
  if (kind === undefined)
    throw invalid(
      url,
      `has pack=${value} in its query`,
      repacking(`data.${value}`)?.fix ?? `write pack= with one of ${packKinds.join(', ')}`,
    );
  return kind;
}

function conflict(url: string, values: Map<string, string>, one: string, other: string): void {
  if (values.has(one) && values.has(other))
    throw invalid(url, `has both '${one}' and '${other}' in its query`, 'keep one of the two');
}
