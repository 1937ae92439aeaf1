import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { isThere, readJsonFile } from '@updraft/base';
import { kindOfExit } from '@updraft/account/codes';
import { readClaim } from '../job/claim.ts';
import { attemptFiles, keptFolder, runFolderFull } from '@updraft/account/run-folder';
import type { WorkOrder } from '../job/job.ts';
import {
  type AgentState,
  type FaultRecord,
  foldAgent,
  isAgentEntry,
  type Observation,
  type Outcome,
  readJournal,
  type RunBody,
  toFaultRecord,
} from '@updraft/account/journal';
import { hasProgressed } from '@updraft/account/recovery';
import type { Exit } from './local/agent-process.ts';

/** How an attempt ended, as far as known. */
export type AttemptExit = Omit<Extract<RunBody, { kind: 'attempt-ended' }>, 'kind' | 'job' | 'attempt'>;

/**
 * How an attempt ended whose agent is gone: from the agent's final entry, else from its exit code, else lost. `exit` is
 * undefined if the agent was not our child; `log` is the agent's own output.
 */
export async function readAttemptExit(
  folder: string,
  exit: Exit | undefined,
  log = path.join(folder, attemptFiles.log),
): Promise<AttemptExit> {
  const agent = await readAgentState(folder);
  if (agent?.outcome !== undefined) {
    const fault = agent.outcome === 'success' ? undefined : agent.faults.at(-1);
    return {
      outcome: agent.outcome,
      exit: agent.exit ?? null,
      ...(fault === undefined ? {} : { fault }),
      ...(agent.faults.at(-1)?.kind === 'time-limit' && hasProgressed(agent) ? { movedOn: true } : {}),
    };
  }
  const claim = await readClaim(folder);
  if (claim !== undefined && 'void' in claim)
    return { outcome: 'lost', exit: null, fault: { kind: 'evicted', message: claim.void } };
  const said = await lastLogLine(log);
  if (typeof exit?.code !== 'number') {
    const how = typeof exit?.signal === 'string' ? `was killed by ${exit.signal}` : 'disappeared';
    return { outcome: 'lost', exit: null, fault: { kind: 'evicted', message: `the agent ${how}${said}` } };
  }
  const kind = kindOfExit(exit.code) ?? 'internal';
  const message = `the agent exited with code ${exit.code} without reporting${said}`;
  const fault = kind === 'run-folder-full' ? await couldNotReport(folder) : { kind, message };
  return { outcome: 'failed', exit: exit.code, fault };
}

/** The agent's journal is in the run's folder, which is full: nothing more could be recorded there. */
async function couldNotReport(folder: string): Promise<FaultRecord> {
  const order = await readJsonFile<WorkOrder>(path.join(folder, attemptFiles.order));
  const kept = order === undefined ? '' : keptFolder(order);
  return toFaultRecord(
    runFolderFull({
      what: `the agent could not record in ${folder} how the attempt ended`,
      folder,
      error: { code: 'ENOSPC' },
      kept: kept !== '' && (await isThere(kept)) ? kept : undefined,
    }),
  );
}

/** Whether the agent has reported the outcome, so that only its clean-up remains. */
export const hasReported = async (folder: string): Promise<boolean> =>
  (await readAgentState(folder))?.outcome !== undefined;

async function readAgentState(folder: string): Promise<AgentState | undefined> {
  const { entries } = await readJournal(path.join(folder, attemptFiles.journal));
  let state: AgentState | undefined;
  for (const entry of entries) if (isAgentEntry(entry)) state = foldAgent(state, entry);
  return state;
}

async function lastLogLine(log: string): Promise<string> {
  const text = await readFile(log, 'utf8').catch(() => '');
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const line = lines.findLast((one) => /^updraft-agent: |error\b/i.test(one)) ?? lines.at(-1) ?? '';
  return line === '' ? '' : `; it printed: ${line.trim().slice(0, 300)}`;
}

/** Gives failed jobs the outcome of their last attempt; `outcomes` keeps those of earlier entries. */
export function withOutcomes(entries: Observation[], outcomes = new Map<string, Outcome>()): Observation[] {
  const faults = new Map<string, FaultRecord | undefined>();
  return entries.map((entry) => {
    if (entry.kind === 'attempt-ended') {
      outcomes.set(entry.job, entry.outcome);
      faults.set(entry.job, entry.exit === null ? undefined : entry.fault);
    }
    // If our own rule holds a job after its attempt, the reason is what the agent found.
    if (entry.kind === 'job-held') return { ...entry, fault: faults.get(entry.job) ?? entry.fault };
    if (entry.kind !== 'job-ended' || entry.outcome !== 'failed') return entry;
    return { ...entry, outcome: outcomes.get(entry.job) ?? entry.outcome };
  });
}
