import fs from 'node:fs';
import path from 'node:path';
import { type Env, tried } from '@updraft/base';
import { Fault } from '../fault.ts';
import { avoidedList, noChoice, pelicanList } from './cache-choice.ts';
import type { CacheChoice } from './located.ts';

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
  const avoided = avoidedList(splitEntries(env['UPDRAFT_AVOID_CACHES'] ?? ''), 'UPDRAFT_AVOID_CACHES');
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
  'NEAREST_CACHE',
  'OSDF_NEAREST_CACHE',
  'STASH_NEAREST_CACHE',
  'PELICAN_NEAREST_CACHE',
  'PELICAN_CLIENT_PREFERREDCACHES',
];

function fromVariables(env: Env): CacheList | undefined {
  for (const by of variables) {
    const entries = splitEntries(env[by] ?? '');
    if (entries.length > 0) return { by, entries };
  }
  return undefined;
}

/** Entries between commas or blanks, with or without quotes. */
const splitEntries = (text: string): string[] => text.split(/[\s,"']+/).filter((entry) => entry !== '');

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
    throw new Fault('url-invalid', `${by} is ${value.slice(0, 100)}, which is not a list of strings`, {
      about: attribute,
      fix: `write +${attribute} = "https://HOST:PORT, +"`,
    });
  const entries = splitEntries(value.replace(/^\{|\}$/g, ''));
  return entries.length === 0 ? undefined : { by, entries };
}

/** Only the first of Pelican's configuration files that exists is read, as Pelican does. */
function fromConfigFiles({ env }: CacheContext): CacheList | undefined {
  const home = env['HOME'];
  const folders = [...(home === undefined ? [] : [path.join(home, '.config', 'pelican')]), '/etc/pelican'];
  const files = folders.map((folder) => path.join(folder, 'pelican.yaml'));
  const file = files.find((each) => readText(each) !== '');
  return file === undefined ? undefined : fromYaml(readText(file), file);
}

const key = /^\s*[\w.]+:(?:\s|$)/;

/** `Client: PreferredCaches:`, in either form of a YAML list. The rest of the file is ignored. */
function fromYaml(text: string, file: string): CacheList | undefined {
  const lines = text.split('\n').map((line) => line.replace(/(^|\s)#.*$/, ''));
  const isBelow = (line: string): boolean => /^\s*(?:-|$)|^\s/.test(line);
  const client = lines.findIndex((line) => /^Client:\s*$/i.test(line));
  const end = lines.findIndex((line, index) => index > client && !isBelow(line));
  const inside = client < 0 ? [] : lines.slice(0, end < 0 ? undefined : end);
  const at = inside.findIndex((line, index) => index > client && /^\s+PreferredCaches:/i.test(line));
  if (at < 0) return undefined;
  const more = inside.slice(at + 1);
  const next = more.findIndex((line) => key.test(line));
  const value = [inside[at]?.replace(/^[^:]*:/, ''), ...more.slice(0, next < 0 ? undefined : next)]
    .join('\n')
    .trim();
  const list = /^\[([^[\]]*)\]$/.exec(value)?.[1] ?? value.replaceAll(/^\s*-\s+/gm, '');
  const entries = splitEntries(list);
  return entries.length === 0 ? undefined : { by: `${file}:${at + 1}`, entries };
}

/** The text of a file; empty if it cannot be read. */
export const readText = (file: string): string => tried(() => fs.readFileSync(file, 'utf8')) ?? '';
