import { readEventLog } from '@updraft/htcondor/eventlog';

/** A starter that asks its shadow too soon whether it may start the job must ask again after this time. */
const pauseSeconds = 5;

/**
 * How long HTCondor 25 itself paused in the attempts of a log between the arrival of their input and their start. Only
 * where the last file came from the access point, and not from a plugin; and whatever the pace of a replay.
 */
export async function startPauseSeconds(log: string): Promise<number> {
  const arrived = new Map<string, number>();
  let sum = 0;
  for await (const event of readEventLog(log)) {
    const job = `${event.cluster}.${event.proc}`;
    const { time = NaN } = event;
    if (event.kind === 'file-transfer' && event.read('direction') === 'input') arrived.set(job, time);
    if (event.kind !== 'execute') continue;
    if (time - (arrived.get(job) ?? NaN) >= 1000 * pauseSeconds) sum += pauseSeconds;
    arrived.delete(job);
  }
  return sum;
}
