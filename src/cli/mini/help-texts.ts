import type { CommandHelp } from '../command-help.ts';

/** The help of `updraft mini` and its subcommands. */
export const miniHelpTexts: Readonly<Record<string, CommandHelp>> = {
  mini: {
    what: 'start a small federation or HTCondor pool on this machine',
    page: 'mini-federation.md',
    examples: [
      ['updraft mini pool up', 'a real HTCondor pool of three sites'],
      ['updraft mini federation up --publish /demo=data', 'a Pelican federation'],
    ],
  },
  'mini federation': {
    what: 'run a small Pelican federation on this machine',
    page: 'mini-federation.md',
    examples: [
      ['updraft mini federation up --publish /demo=data --detach', 'start it'],
      ['updraft mini federation down', 'stop it'],
    ],
  },
  'mini federation up': {
    what: 'start the federation; Ctrl-C stops it',
    page: 'mini-federation.md',
    examples: [
      ['updraft mini federation up --publish /demo=data --like xrootd', 'behave like XRootD servers'],
      [
        'updraft mini federation up --publish /demo=data --token-for /demo --detach',
        'in the background; reading needs a token',
      ],
    ],
  },
  'mini federation status': {
    what: 'show addresses, what was served, and active trouble',
    page: 'mini-federation.md',
    examples: [
      ['updraft mini federation status', 'the one started by `up --detach`'],
      ['updraft mini federation status --json', 'for a program'],
    ],
  },
  'mini federation token': {
    what: 'print a new token for a protected namespace',
    page: 'mini-federation.md',
    examples: [
      ['updraft mini federation token > token', 'for the first namespace that needs one'],
      ['updraft mini federation token /demo --expires 60', 'valid for a minute'],
    ],
  },
  'mini federation approve': {
    what: 'approve a pending login, as its web page would',
    page: 'login.md',
    examples: [
      ['updraft mini federation approve ABCD-EFGH', 'the code that login shows'],
      ['updraft mini federation approve ABCD-EFGH --deny', 'refuse it'],
    ],
  },
  'mini federation trouble': {
    what: 'make servers misbehave; without rules, list active ones',
    page: 'mini-federation.md',
    examples: [
      ["updraft mini federation trouble 'cache-1: stall after 1MB'", 'the first cache stalls'],
      ['updraft mini federation trouble --clear', 'back to normal'],
    ],
  },
  'mini federation down': {
    what: 'stop the federation',
    page: 'mini-federation.md',
    examples: [
      ['updraft mini federation down', 'the one started by `up --detach`'],
      ['updraft mini federation down --state /tmp/fed', 'one that keeps its state there'],
    ],
  },
  'mini pool': {
    what: 'run a real HTCondor pool of three sites on this machine',
    page: 'mini-pool.md',
    examples: [
      ['updraft mini pool up', 'start it; the first time it is built'],
      ['updraft mini pool down', 'stop it'],
    ],
  },
  'mini pool up': {
    what: 'start the pool; the first time it is built',
    page: 'mini-pool.md',
    examples: [
      ['updraft mini pool up', 'then: updraft run --pool condor'],
      ['eval "$(updraft mini pool up)"', "HTCondor's commands in this shell"],
      ['updraft mini pool up --like ospool', "with the OSPool's limits"],
    ],
  },
  'mini pool status': {
    what: 'show whether the pool runs, and where',
    examples: [
      ['updraft mini pool status', 'sites, and how to use the pool'],
      ['updraft mini pool status --json', 'for a program'],
    ],
  },
  'mini pool down': {
    what: 'stop every process of the pool',
    examples: [
      ['updraft mini pool down', 'its files stay'],
      ['updraft mini pool down --json', 'for a program'],
    ],
  },
};
