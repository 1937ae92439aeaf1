import { livePageBytes, readLivePage, type LivePage } from '../../../job/live-page.ts';
import type { CondorTools } from '../tools/condor-tools.ts';

/** The page's first line. */
const headBytes = 64;

/**
 * What the agent of a running job shows of its training's log. Asked for as a whole each time: `condor_tail -f` of today's
 * HTCondor tells some parts twice and others never.
 */
export async function tailJob(
  tools: CondorTools,
  id: string,
  stream: 'out' | 'err',
  signal: AbortSignal,
): Promise<LivePage | undefined> {
  const which = stream === 'err' ? ['-no-stdout', '-stderr'] : [];
  // The agent's own last words may follow the page.
  const most = livePageBytes + headBytes + 4096;
  const args = ['-maxbytes', String(most), ...which, id];
  return readLivePage(await tools.askBytes('condor_tail', args, { signal }));
}
