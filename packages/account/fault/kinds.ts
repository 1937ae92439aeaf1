import { archiveFaults } from '@updraft/archive/fault';
import { baseFaults, kind } from '@updraft/base';
import { htcondorFaults } from '@updraft/htcondor/fault';
import { pelicanFaults } from '@updraft/pelican/fault';

/** What can go wrong with a run and its jobs. */
const runFaults = {
  'jobs-failed': kind(1, 'never'),
  'pool-unreachable': kind(4, 'same'),
  'pool-hold': kind(6, 'never'),
  'memory-exceeded': kind(86, 'more'),
  'training-killed': kind(87, 'elsewhere'),
  'gpu-memory': kind(88, 'elsewhere'),
  'command-missing': kind(109, 'never'),
  'training-failed': kind(110, 'never'),
  'training-hung': kind(111, 'elsewhere'),
  'wrong-output': kind(112, 'never'),
  evicted: kind(113, 'elsewhere'),
  'time-limit': kind(114, 'never'),
  'self-test-failed': kind(115, 'elsewhere'),
  'environment-broken': kind(116, 'elsewhere'),
  'slow-slot': kind(118, 'elsewhere'),
  'run-folder-full': kind(120, 'never'),
};

/**
 * Everything that can go wrong. The agent uses codes 86 to 120 only, so that a training's own exit code passes
 * through it unchanged; 1 to 5 are the CLI's, 6 is for holds only.
 */
export const kinds = { ...baseFaults, ...pelicanFaults, ...archiveFaults, ...htcondorFaults, ...runFaults };

export type FaultKind = keyof typeof kinds;

/** Exit codes in this range are the agent's; the agent replaces such a code of a training. */
export const agentExits = { from: 86, to: 120 } as const;
