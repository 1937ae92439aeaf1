import { quantile } from '@updraft/account/testing';
import type { Tab } from '../../test/browser/chromium.ts';
import { shuffled } from '../interleave.ts';

/** What a person notices of a page: milliseconds since it was requested, and between frames while scrolling. */
export interface PageTiming {
  paint: number;
  ready: number;
  frame: number;
  /** 95th percentile. */
  slowFrame: number;
  elements: number;
  /** Bytes, after garbage collection. */
  heap: number;
}

export interface Page {
  name: string;
  address: string;
  /** An expression that is true once everything is shown (default: the page's `load` event). */
  ready?: string;
  /** What scrolls. */
  port: string;
}

/** Times each page once per round, in an order that is shuffled in every round. */
export async function timePages(tab: Tab, pages: Page[], rounds: number): Promise<Map<string, PageTiming[]>> {
  const timings = new Map<string, PageTiming[]>(pages.map(({ name }) => [name, []]));
  for (let round = 0; round < rounds; round++)
    for (const page of shuffled(pages)) {
      const timing = await timePage(tab, page);
      timings.get(page.name)?.push(timing);
      process.stderr.write(`${page.name}: ${JSON.stringify(timing)}\n`);
    }
  return timings;
}

const paintEntry = `performance.getEntriesByName('first-contentful-paint')[0]`;

async function timePage(tab: Tab, { address, ready = 'true', port }: Page): Promise<PageTiming> {
  // From an empty page, so that nothing of the previous one is left.
  await tab.go('about:blank');
  await tab.until(`location.href === 'about:blank'`);
  await tab.go(address);
  await tab.until(
    `location.href === ${JSON.stringify(address)} && document.readyState === 'complete' && ${ready}`,
  );
  const end = await tab.read<number>('performance.now()');
  await tab.until(paintEntry);
  const frames = (await tab.read<number[]>(scrolling(port))).sort((a, b) => a - b);
  await tab.send('HeapProfiler.collectGarbage');
  const { usedSize } = (await tab.send('Runtime.getHeapUsage')) as { usedSize: number };
  return {
    paint: await tab.read<number>(`${paintEntry}.startTime`),
    ready: end,
    frame: quantile(frames, 0.5) ?? NaN,
    slowFrame: quantile(frames, 0.95) ?? NaN,
    elements: await tab.read<number>(`document.querySelectorAll('*').length`),
    heap: usedSize,
  };
}

/** Milliseconds of 120 frames, each of which scrolls to another place. */
const scrolling = (port: string): string => `new Promise((resolve) => {
  const port = document.querySelector('${port}');
  const frames = [];
  let before = performance.now();
  const step = (now) => {
    frames.push(now - before);
    before = now;
    port.scrollTop = (frames.length * 7919 * 36) % port.scrollHeight;
    if (frames.length < 120) requestAnimationFrame(step);
    else resolve(frames.slice(1));
  };
  requestAnimationFrame(step);
})`;

/** The dashboard's table as a separate page with every row. */
export function allRows(tab: Tab, jobs: number): Promise<string> {
  return tab.read<string>(`(async () => {
    const port = document.querySelector('.port');
    const rows = new Map();
    while (rows.size < ${jobs}) {
      for (const row of port.querySelectorAll('tr[data-job]')) rows.set(row.dataset.job, row.outerHTML);
      port.scrollTop += port.clientHeight;
      await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
    }
    const style = document.querySelector('style').outerHTML;
    const head = port.querySelector('thead').outerHTML;
    return '<!doctype html><meta charset="utf-8"><title>Jobs</title>' + style +
      '<main><section class="panel"><div class="port"><table class="jobs">' + head +
      '<tbody>' + [...rows.values()].join('') + '</tbody></table></div></section></main>';
  })()`);
}
