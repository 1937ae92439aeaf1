import { cacheNameForms, isAtCache, parseCacheName, type Env, tried, given } from '@updraft/base';
import fs from 'node:fs';
import path from 'node:path';
import { Fault } from '../fault.ts';
import type { CacheChoice, ChosenCache, LeftOut, Locator, ObjectServer } from './located.ts';

export const noChoice: CacheChoice = { preferred: [], only: false, avoided: [] };

/** The caches that a command line or a job file names. */
interface CacheNames {
  caches?: readonly string[] | undefined;
  avoidCaches?: readonly string[] | undefined;
  /** They were named for the objects being located, so that a token for these may go there. */
  isForObject: boolean;
}

/** A locator with these preferences; the director's caches come after the preferred ones. */
export function preferCaches<L extends Locator>(
  locator: L,
  { caches = [], avoidCaches = [], isForObject }: CacheNames,
  by: { caches: string; avoidCaches: string },
): L {
  if (caches.length + avoidCaches.length === 0) return locator;
  const choice: CacheChoice = {
    preferred: caches.map((text) => named(text, by.caches, isForObject)),
    only: false,
    avoided: avoidCaches.map((text) => named(text, by.avoidCaches, isForObject)),
  };
  return { ...locator, locate: (url, options) => locator.locate(url, { ...options, cacheChoice: choice }) };
}

/** The source of the choice if it is a job file. */
export const byJobFile = { caches: 'the job file', avoidCaches: 'the job file' };

/** A cache name that is wrong on one machine may be right on another. */
type WrongKind = 'url-invalid' | 'servers-unreachable';

/** A list in Pelican's form: `+` at the end lets the director's servers follow. */
export function pelicanList(
  entries: readonly string[],
  by: string,
  kind: WrongKind = 'url-invalid',
): CacheChoice {
  const plus = entries.indexOf('+');
  if (plus >= 0 && plus < entries.length - 1)
    throw new Fault(kind, `${by}: "+" is allowed only at the end of the list`, {
      about: by,
      fix: 'move "+" to the end',
    });
  const preferred = entries.filter((entry) => entry !== '+').map((text) => named(text, by, false, kind));
  return { preferred, only: plus < 0 && preferred.length > 0, avoided: [] };
}

function named(text: string, by: string, isForObject: boolean, kind: WrongKind = 'url-invalid'): ChosenCache {
  const name = parseCacheName(text);
  if (name !== undefined) return { ...name, by, isForObject };
  throw new Fault(kind, `${by}: ${JSON.stringify(text.slice(0, 100))} is not a cache`, {
    about: by,
    fix: `write ${cacheNameForms}`,
  });
}

/** A choice for one object comes before a choice for all; a cache is avoided if any of them says so. */
export function mergedChoice(own: CacheChoice | undefined, ofAll: CacheChoice): CacheChoice {
  if (own === undefined) return ofAll;
  const { preferred, only } = own.preferred.length > 0 ? own : ofAll;
  return { preferred, only, avoided: [...own.avoided, ...ofAll.avoided] };
}

interface WantedObject {
  path: string;
  requireToken: boolean;
  /** Whether a token may go to a URL at all. */
  isTrustworthy: (url: string) => boolean;
}

/**
 * The servers to try, in order. A preferred cache that the director names is asked at the director's URL for it. One
 * that it does not name gets no token unless it was named for this object; if a token is needed, it is left out.
 */
export function chooseServers(
  named: readonly ObjectServer[],
  choice: CacheChoice,
  object: WantedObject,
): { servers: ObjectServer[]; leftOut: LeftOut[] } {
  const preferred: ObjectServer[] = [];
  const leftOut: LeftOut[] = [];
  for (const cache of choice.preferred) {
    const known = named.filter(({ url }) => isAtCache(url, cache));
    const unnamed = { url: cache.base + object.path, host: new URL(cache.base).host, kind: 'cache' } as const;
    const servers = known.length > 0 ? known : [unnamed];
    const [server] = servers;
    const isWithoutToken =
      known.length === 0 && object.requireToken && !(cache.isForObject && object.isTrustworthy(cache.base));
    if (isWithoutToken && server !== undefined)
      leftOut.push({ server: server.host, by: cache.by, why: 'no-token' });
    else preferred.push(...servers.map((one) => ({ ...one, preferredBy: cache.by })));
  }
  const all = uniqueByUrl([...preferred, ...(choice.only ? [] : named)]);
  const servers = all.filter(({ url, host: server }) => {
    const avoided = choice.avoided.find((cache) => isAtCache(url, cache));
    if (avoided !== undefined) leftOut.push({ server, by: avoided.by, why: 'avoided' });
    return avoided === undefined;
  });
  return { servers, leftOut };
}

const uniqueByUrl = (servers: readonly ObjectServer[]): ObjectServer[] =>
  servers.filter(({ url }, index) => servers.findIndex((other) => other.url === url) === index);

export function noServerLeft(url: string, leftOut: readonly LeftOut[]): Fault {
  const said = leftOut.map(({ server, by, why }) =>
    why === 'avoided'
      ? `${server} is to be avoided (${by})`
      : `${server} gets no token: ${by} prefers it, the director does not name it`,
  );
  const isAvoided = leftOut.some(({ why }) => why === 'avoided');
  return new Fault('servers-unreachable', `${url}: no server is left to ask: ${said.join('; ')}`, {
    about: url,
    fix: isAvoided
      ? 'avoid fewer caches'
      : 'end the list with "+", or name the cache for this object: --cache, or `caches` in a job file',
  });
}

interface CacheContext {
  env: Env;
  cwd: string;
}

interface CacheList {
  by: string;
  entries: string[];
}

/**
 * The cache preferences of this machine, for all objects. Of Pelican's places, the first one that names any counts, in
 * Pelican's own order; Updraft's comes before them and adds the director's caches.
 */
export function readCacheChoice(context: CacheContext): CacheChoice {
  const { env } = context;
  const avoidedBy = 'UPDRAFT_AVOID_CACHES';
  const avoided = splitEntries(env[avoidedBy] ?? '').map((text) => named(text, avoidedBy, false));
  const ours = splitEntries(env['UPDRAFT_CACHES'] ?? '').filter((entry) => entry !== '+');
  if (ours.length > 0) return { ...pelicanList([...ours, '+'], 'UPDRAFT_CACHES'), avoided };
  const ofJob = fromJobAd(context);
  if (ofJob !== undefined) return { ...pelicanList(ofJob.entries, ofJob.by), avoided };
  const said = fromVariables(env) ?? fromConfigFiles(context);
  const list = said === undefined ? noChoice : pelicanList(said.entries, said.by, 'servers-unreachable');
  return { ...list, avoided };
}

/** Pelican reads the old names first, and of those the one without a prefix. */
const variables = [
  ...['', 'OSDF_', 'STASH_', 'PELICAN_'].map((prefix) => `${prefix}NEAREST_CACHE`),
  'PELICAN_CLIENT_PREFERREDCACHES',
];

const fromVariables = (env: Env): CacheList | undefined =>
  variables.map((by) => listOf(by, env[by] ?? '')).find((list) => list !== undefined);

/** Entries between commas or blanks, with or without quotes. */
const splitEntries = (text: string): string[] => text.split(/[\s,"']+/).filter((entry) => entry !== '');

function listOf(by: string, text: string): CacheList | undefined {
  const entries = splitEntries(text);
  return entries.length === 0 ? undefined : { by, entries };
}

const attribute = 'PelicanCfg_Client_PreferredCaches';

/** A string or a list of strings; HTCondor writes each attribute of a job on one line. */
function fromJobAd({ env, cwd }: CacheContext): CacheList | undefined {
  const file = env['_CONDOR_JOB_AD'];
  // A file that merely lies in the folder could come from anybody.
  const text = file === undefined ? '' : readText(path.resolve(cwd, file));
  const value = new RegExp(`^\\s*${attribute}\\s*=\\s*(.*?)\\s*$`, 'im').exec(text)?.[1];
  if (value === undefined || /^undefined$/i.test(value)) return undefined;
  const by = `${attribute} of the job`;
  if (!/^(?:"[^"]*"|\{\s*(?:"[^"]*"\s*,?\s*)*\})$/.test(value))
    throw new Fault('url-invalid', `${by} is ${value.slice(0, 100)}, not a list of strings`, {
      about: attribute,
      fix: `write +${attribute} = "https://HOST:PORT, +"`,
    });
  return listOf(by, value.replace(/^\{|\}$/g, ''));
}

/** Only the first of Pelican's configuration files that exists is read, as Pelican does. */
function fromConfigFiles({ env }: CacheContext): CacheList | undefined {
  const home = env['HOME'];
  const folders = given(home !== undefined && path.join(home, '.config', 'pelican'), '/etc/pelican');
  const files = folders.map((folder) => path.join(folder, 'pelican.yaml'));
  const file = files.find((each) => readText(each) !== '');
  return file === undefined ? undefined : fromYaml(readText(file), file);
}

/** `Client: PreferredCaches:`, in either form of a YAML list; the rest of the file is ignored. */
const preferredCaches =
  /(^Client:[^\S\n]*\n(?:(?:[^\S\n].*)?\n)*?[^\S\n]+PreferredCaches:)(?:\s*\[([^[\]]*)\]|\s*((?:-\s.*\s*)+)|(.+))/im;

function fromYaml(text: string, file: string): CacheList | undefined {
  const plain = text.replaceAll(/(?<=^|\s)#.*/gm, '');
  const [, key = '', inLine, below, other = ''] = preferredCaches.exec(plain) ?? [];
  const line = plain.split(key)[0]?.concat(key).split('\n').length;
  return listOf(`${file}:${line}`, inLine ?? below?.replaceAll(/^\s*-\s/gm, '') ?? other);
}

/** The text of a file; empty if it cannot be read. */
export const readText = (file: string): string => tried(() => fs.readFileSync(file, 'utf8')) ?? '';
