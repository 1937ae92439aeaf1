import type { BoardUpdate, JobDetail, LogPart, MetricCurves, ResultFile } from '../page-data.ts';

export type ActionName = 'stop' | 'retry';

/** The caller is responsible for the type. */
export const parsed = (text: string): unknown => JSON.parse(text);

/** The server behind the page; `base` is the run's address on it. */
export function server(base: string) {
  const get = async (path: string): Promise<unknown> => {
    const response = await fetch(`${base}/${path}`);
    if (!response.ok) throw new Error(await response.text());
    return parsed(await response.text());
  };
  return {
    detailOf: async (id: string) => (await get(`job?id=${encodeURIComponent(id)}`)) as JobDetail,
    logOf: async (id: string, stream: string) =>
      (await get(`log?id=${encodeURIComponent(id)}&stream=${stream}`)) as LogPart,
    curvesOf: async (metric: string, job = '') =>
      (await get(
        `curves?metric=${encodeURIComponent(metric)}&id=${encodeURIComponent(job)}`,
      )) as MetricCurves,
    resultsOf: async (id: string) => (await get(`results?id=${encodeURIComponent(id)}`)) as ResultFile[],
    hrefOf: (id: string, file: string) =>
      `${base}/result?id=${encodeURIComponent(id)}&file=${encodeURIComponent(file)}`,
    /** Returns an error message, or an empty one. */
    act:
      (action: ActionName) =>
      async (jobs: string[]): Promise<string> => {
        const response = await fetch(`${base}/${action}`, { method: 'POST', body: JSON.stringify({ jobs }) });
        if (response.ok) return '';
        const said = await response.text();
        try {
          const { error, fix } = parsed(said) as { error: string; fix: string };
          return [error, fix].filter((part) => part !== '').join('; ');
        } catch {
          return said;
        }
      },
    /** The browser reconnects by itself. */
    follow(onChange: (change: BoardUpdate) => void, onLink: (alive: boolean) => void): void {
      const events = new EventSource(`${base}/events`);
      events.addEventListener('change', (event) => onChange(parsed(String(event.data)) as BoardUpdate));
      events.onopen = () => onLink(true);
      events.onerror = () => onLink(false);
    },
  };
}
