import type { Fateful, Trouble } from './trouble.ts';
import { filesNamed } from './files-named.ts';

/** Fails once. */
const flaky = '[ -e MEET/$(Cluster) ] || { touch MEET/$(Cluster); exit 1; }';

/** condor_submit refuses these files. */
const refused: Omit<Fateful, 'before'>[] = [
  { rule: 'comment-in-value', lines: ['request_cpus = 1 # one for loading'] },
  {
    rule: 'transfer-off',
    does: 'cat key.txt',
    lines: ['should_transfer_files = NO', 'transfer_input_files = key.txt'],
    files: { 'key.txt': '' },
  },
];

/** They are read as something else. */
const misread: Fateful[] = [
  {
    rule: 'replaced-command',
    does: 'cat a.txt b.txt',
    lines: ['transfer_input_files = a.txt', 'transfer_input_files = b.txt'],
    files: { 'a.txt': '', 'b.txt': '' },
    before: 'fails',
  },
  {
    // No machine has it, and the job cannot work without.
    rule: 'replaced-command',
    does: 'grep -q "^HasOwnDisk" .machine.ad',
    lines: ['requirements = HasOwnDisk', 'requirements = OpSys == "LINUX"'],
    before: 'fails',
    after: 'finds no machine',
  },
  {
    rule: 'unused-name',
    does: flaky,
    lines: ['max_retires = 1'],
    right: (lines, fix) => lines.map((line) => line.replace('max_retires', /`(\w+)`/.exec(fix)?.[1] ?? '')),
    before: 'fails',
  },
  {
    rule: 'undefined-macro',
    does: 'test "$(tag)" = value',
    right: (lines, fix) =>
      lines.map((line) => line.replace('$(tag)', /\$\(tag:value\)/.exec(fix)?.[0] ?? '')),
    before: 'fails',
  },
  {
    rule: 'undefined-macro',
    does: 'test "$ENV(NO_TAG)" = value',
    right: (lines, fix) =>
      lines.map((line) => line.replace('$ENV(NO_TAG)', /\$ENV\(NO_TAG:value\)/.exec(fix)?.[0] ?? '')),
    before: 'fails',
  },
  {
    rule: 'comment-in-continuation',
    lines: ['executable = /usr/bin/test', 'arguments = a = a \\', '  # the same letter'],
    right: (lines) => [
      ...lines.filter((line) => !/arguments|#|queue/.test(line)),
      '# the same letter',
      'arguments = a = a',
      'queue',
    ],
    before: 'fails',
  },
  {
    rule: 'getenv-all',
    does: 'python3 -c "" && test "$NAME $PREFIX_A" = "my own"',
    lines: ['getenv = true'],
    variables: { PYTHONHOME: '/home/me/python', NAME: 'my', PREFIX_A: 'own' },
    line: /getenv = [^`]*/,
    before: 'fails',
  },
  {
    rule: 'unquoted-attribute',
    lines: ['+Colour = green', 'requirements = MY.Colour == "green"'],
    before: 'finds no machine',
  },
];

/** What the user finds afterwards. */
const found: Trouble[] = [
  {
    rule: 'comment-in-value',
    lines: ['output = out.1 # one per job'],
    sees: filesNamed(/^out/),
    before: 'out.1 # one per job',
    after: 'out.1',
  },
  {
    rule: 'environment-secret',
    does: 'test -n "$WANDB_API_KEY$(cat key.txt)"',
    lines: ['environment = "WANDB_API_KEY=0123456789abcdef"'],
    files: { 'key.txt': '0123456789abcdef' },
    without: /^environment/,
    line: 'transfer_input_files = key.txt',
    sees: async ({ cluster, tool }) => {
      const all = await tool('condor_history', cluster, '-l');
      return /ExitCode = 0/.test(all) ? (/0123456789abcdef/.exec(all)?.[0] ?? 'no secret') : 'a failure';
    },
    before: '0123456789abcdef',
    after: 'no secret',
  },
];

export const aboutStatements: Trouble[] = [
  ...refused.map((one): Trouble => ({ ...one, before: 'is refused' })),
  ...misread,
  ...found,
];
