import type { AgentState } from '../../journal/state.ts';
import type { JobHistory, UsedResource } from '../../history/history.ts';
import { resourceReports, type ResourceReport } from '../resource-reports.ts';

/** What is known of a run beside its journals. */
export interface RunContext {
  /** Memory that its jobs ask for. */
  askedMemoryBytes?: number | undefined;
  /** Its jobs as HTCondor's log tells them, where that is its pool. */
  logged?: readonly JobHistory[] | undefined;
}

const megabyte = 1e6;

/** The memory an attempt was seen to use, beside what it asked for. */
export function usedMemory(agent: AgentState | undefined, { askedMemoryBytes }: RunContext): UsedResource[] {
  const used = agent?.peakMemoryBytes;
  if (used === undefined || askedMemoryBytes === undefined) return [];
  const inMegabytes = (bytes: number) => Math.ceil(bytes / megabyte);
  return [{ name: 'Memory', unit: 'MB', usage: inMegabytes(used), request: inMegabytes(askedMemoryBytes) }];
}

/** What HTCondor measured counts before what the agents saw: it saw all of the job, all of the time. */
export function runResources(jobs: readonly JobHistory[], { logged = [] }: RunContext): ResourceReport[] {
  const measured = resourceReports(logged);
  const names = new Set(measured.map(({ name }) => name));
  return [...measured, ...resourceReports(jobs).filter(({ name }) => !names.has(name))];
}
