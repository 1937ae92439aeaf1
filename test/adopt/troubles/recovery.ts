import { type Fateful, untilOthersAreHeld } from './trouble.ts';

export const aboutRecovery: Fateful[] = [
  {
    rule: 'hidden-retries',
    does: 'false',
    lines: ['success_exit_code = 0'],
    line: 'max_retries = 0',
    before: 'fails 3 times',
    after: 'fails',
  },
  {
    rule: 'endless-restart',
    does: 'false',
    lines: ['on_exit_remove = ExitCode == 0'],
    before: 'runs again forever',
    after: 'fails 4 times',
  },
  {
    rule: 'worth-adding',
    does: '[ -e MEET/$(Cluster) ] || { touch MEET/$(Cluster); exit 1; }',
    line: /^max_retries.*$/gm,
    before: 'fails',
  },
  // A job that does not make its result.
  { rule: 'worth-adding', line: /^transfer_output.*$/gm, before: 'succeeds', after: 'is held (12)' },
  {
    // The first line should hold it.
    rule: 'replaced-command',
    does: untilOthersAreHeld,
    lines: ['periodic_hold = NumJobStarts > 0', 'periodic_hold = NumHolds > 9'],
    before: 'succeeds',
    after: 'is held (3)',
  },
];
