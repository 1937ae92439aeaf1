import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AttemptHistory, CacheShare, JobHistory } from '../history/history.ts';
import { cacheSiteReports } from './cache-reports.ts';
import type { GroupedReport } from './grouped-report.ts';
import type { ReadLogs } from './read-logs.ts';
import { comparisonPage, groupedSections } from './report-page.ts';

const share = (name: string, more: Partial<CacheShare>): CacheShare => ({
  ...{ name, bytes: 100, seconds: 10, setbacks: 0 },
  ...more,
});
const at = (site: string, ...caches: CacheShare[]) => ({ site, machine: 'm', caches }) as AttemptHistory;

test('each cache and site has its bytes, its rate, its failures, and how much was cold', () => {
  const attempts = [
    at('North', share('near', { coldBytes: 100 })),
    at(
      'North',
      share('near', { warmBytes: 300, bytes: 300 }),
      share('far', { bytes: 0, seconds: 0, setbacks: 2 }),
    ),
    at('South', share('far', { bytes: 50 }), share('never', { bytes: 0, seconds: 0 })),
  ];
  const pairs = cacheSiteReports(
    attempts.map((attempt) => ({ attempts: [attempt] }) as unknown as JobHistory),
  );
  assert.deepEqual(
    pairs.map(({ name, site, fetches, bytes, bytesPerSecond, setbacks, coldShare }) =>
      [name, site, fetches, bytes, bytesPerSecond, setbacks, coldShare].join(' '),
    ),
    ['near North 2 400 20 0 0.25', 'far South 1 50 5 0 ', 'far North 0 0  2 '],
  );
});

test('a report by cache also says which cache served which site, and no other report by groups does', () => {
  const attempts = ['North', 'South'].map((site) => at(site, share('near', { coldBytes: 100 })));
  const cacheSites = cacheSiteReports(
    attempts.map((attempt) => ({ attempts: [attempt] }) as unknown as JobHistory),
  );
  const read = { report: { cacheSites }, jobs: [] as JobHistory[] } as ReadLogs;
  const pageBy = (by: string) => {
    const grouped = {
      by,
      title: by,
      titles: [by],
      groups: [],
      measures: [],
      completion: [],
      notes: [],
      remedies: {},
    };
    const all = { ...grouped, jobs: 0, attempts: 0, slotTotalSeconds: 0, lostSeconds: 0, logs: [] };
    const parts = groupedSections(read, all as unknown as GroupedReport, false);
    const report = { verdict: null, cacheSites };
    return { parts, page: comparisonPage(by, all as unknown as GroupedReport, report, parts) };
  };
  const idsBy = (by: string) => pageBy(by).parts.map(({ id }) => id);
  assert.ok(idsBy('cache').includes('cache-sites'));
  assert.ok(idsBy('method,warmth').includes('cache-sites'));
  assert.ok(!idsBy('site,cache_size').includes('cache-sites'));
  assert.match(pageBy('cache').page, /<section id="cache-sites"/);
  assert.doesNotMatch(pageBy('site').page, /<section id="cache-sites"/);
});
