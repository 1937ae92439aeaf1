/** @import { Change, JobDetail, LogPart } from '../page-data.ts' */

/**
 * JSON of a shape that the caller vouches for.
 *
 * @type {(text: string) => unknown}
 */
export const parsed = (text) => JSON.parse(text);

/**
 * The server behind the page.
 *
 * @param {string} base address of the run on it
 */
export function server(base) {
  /** @param {string} path */
  const get = async (path) => {
    const response = await fetch(`${base}/${path}`);
    if (!response.ok) throw new Error(await response.text());
    return parsed(await response.text());
  };
  return {
    /** @param {string} id */
    detailOf: async (id) => /** @type {JobDetail} */ (await get(`job?id=${encodeURIComponent(id)}`)),
    /**
     * @param {string} id
     * @param {string} stream
     */
    logOf: async (id, stream) =>
      /** @type {LogPart} */ (await get(`log?id=${encodeURIComponent(id)}&stream=${stream}`)),
    /**
     * @param {'stop' | 'retry'} action
     * @returns {(jobs: string[]) => Promise<string>} gives what went wrong, or nothing
     */
    act: (action) => async (jobs) => {
      const response = await fetch(`${base}/${action}`, { method: 'POST', body: JSON.stringify({ jobs }) });
      if (response.ok) return '';
      const said = await response.text();
      try {
        const { error, fix } = /** @type {{ error: string, fix: string }} */ (parsed(said));
        return [error, fix].filter((part) => part !== '').join('; ');
      } catch {
        return said;
      }
    },
    /**
     * Tells every change, from now on. The browser connects again by itself when the connection is lost.
     *
     * @param {(change: Change) => void} onChange
     * @param {(alive: boolean) => void} onLink
     */
    follow(onChange, onLink) {
      const events = new EventSource(`${base}/events`);
      events.addEventListener('change', (event) => {
        onChange(/** @type {Change} */ (parsed(String(event.data))));
      });
      events.onopen = () => onLink(true);
      events.onerror = () => onLink(false);
    },
  };
}
