import { isShardList } from '@updraft/base';
import { poolTraits } from './pool-traits.ts';
import type { DataMethod, DataSource, PoolName } from './spec.ts';

/** Decides how a data source reaches the job, and why. */
export function chooseMethod(
  source: DataSource,
  pool: PoolName,
): { method: Exclude<DataMethod, 'auto'>; why: string } {
  const { method, unpack } = source;
  const { hasPlugins, sharesFolder, runsHere } = poolTraits[pool];
  if (method === 'osdf' && !hasPlugins)
    return {
      method: 'stream',
      why: `only HTCondor has transfer plugins; on the pool "${pool}" the agent fetches it in the job`,
    };
  if (method !== 'auto') return { method, why: 'the job file says so' };
  if (/^file:/i.test(source.url) && sharesFolder && !runsHere)
    return { method: 'native', why: 'it is a file that the nodes see too: the agent reads it in place' };
  if (/^file:/i.test(source.url))
    return { method: 'native', why: 'it is a file on this machine, sent from here' };
  if (/^https?:/i.test(source.url) && !hasPlugins)
    return { method: 'https', why: 'the URL names one https server; the agent fetches it in the job' };
  if (/^https?:/i.test(source.url))
    return {
      method: 'stream',
      why: "the agent fetches it in the job: it resumes and verifies, which HTCondor's own plugin does not",
    };
  if (isShardList(source))
    return {
      method: 'stream',
      why: 'the agent fetches its shards in the job, several at a time, and unpacks them into one folder',
    };
  const saving = unpack === 'none' ? '' : ' and unpacks it as it arrives, so no second copy needs disk';
  return {
    method: 'stream',
    why: `the agent fetches it in the job through the caches, changes cache when one stalls${saving}`,
  };
}
