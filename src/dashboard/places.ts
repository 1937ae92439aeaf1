import type { FetchState, RunState } from '../journal/state.ts';
import { ledgerRowsOf } from './job-row.ts';
import type { CacheFigures, SiteFigures } from './page-data.ts';

/** More rows than this are no overview: the biggest are shown. */
const mostRows = 50;

/** How each site did: the site where the pool names one, else the machine. Pure. */
export function sitesOf({ jobs }: RunState): SiteFigures[] {
  const sites = new Map<string, SiteFigures>();
  for (const row of jobs.flatMap(ledgerRowsOf)) {
    const site = row.site || row.host || '(not known)';
    const known = sites.get(site) ?? {
      site,
      attempts: 0,
      success: 0,
      running: 0,
      lost: 0,
      training: 0,
      slot: 0,
    };
    const over = row.outcome !== 'success' && row.outcome !== 'running';
    sites.set(site, {
      site,
      attempts: known.attempts + 1,
      success: known.success + (row.outcome === 'success' ? 1 : 0),
      running: known.running + (row.outcome === 'running' ? 1 : 0),
      lost: known.lost + (over ? 1 : 0),
      training: known.training + (row.millis.training ?? 0),
      slot: known.slot + Object.values(row.millis).reduce((sum, millis) => sum + millis, 0),
    });
  }
  return [...sites.values()].sort((a, b) => b.attempts - a.attempts).slice(0, mostRows);
}

interface Serving extends CacheFigures {
  doneBytes: number;
  doneSeconds: number;
}

/**
 * How each cache or origin served: of what is done, what it gave; of what is under way, all that came counts for the
 * server, or the servers together, that it comes from now. Pure.
 */
export function cachesOf(state: RunState): CacheFigures[] {
  const servers = new Map<string, Serving>();
  for (const job of state.jobs)
    for (const attempt of job.attempts)
      for (const fetch of attempt.agent?.fetches ?? [])
        addFetch(servers, fetch, attempt.endedAt === undefined);
  return [...servers.values()]
    .sort((a, b) => b.bytes - a.bytes || b.setbacks - a.setbacks)
    .slice(0, mostRows)
    .map(({ doneBytes, doneSeconds, ...figures }) => ({
      ...figures,
      meanRate: doneSeconds > 0 ? doneBytes / doneSeconds : null,
    }));
}

function addFetch(servers: Map<string, Serving>, fetch: FetchState, live: boolean): void {
  const { done, seconds = 0, bytes } = fetch;
  const given = done ? (fetch.servers ?? []) : fetch.server === '' ? [] : [{ server: fetch.server, bytes }];
  for (const part of given) {
    const server = servingOf(servers, part.server);
    server.fetches += 1;
    server.bytes += part.bytes;
    if (live && !done) server.rate += fetch.rate;
    if (done && seconds > 0) {
      server.doneBytes += part.bytes;
      server.doneSeconds += seconds;
    }
  }
  for (const setback of fetch.setbacks) {
    const server = servingOf(servers, setback.server);
    server.setbacks += 1;
    server.lastSetback = setback.fault.kind;
  }
}

function servingOf(servers: Map<string, Serving>, name: string): Serving {
  const known = servers.get(name) ?? {
    server: name,
    fetches: 0,
    bytes: 0,
    meanRate: null,
    rate: 0,
    setbacks: 0,
    lastSetback: '',
    doneBytes: 0,
    doneSeconds: 0,
  };
  servers.set(name, known);
  return known;
}
