import type { Fateful, Trouble } from './trouble.ts';
import { filesNamed } from './files-named.ts';

/** Fails once. */
const flaky = '[ -e MEET/$(Cluster) ] || { touch MEET/$(Cluster); exit 1; }';

/** condor_submit refuses these files. */
const refused: Omit<Fateful, 'before'>[] = [
  { rule: 'bad-quoting', lines: ['executable = /bin/echo', 'arguments = "say "hello""'] },
  { rule: 'bad-quoting', does: 'test "$A$B" = "1two words"', lines: [`environment = "A='open"`] },
  {
    rule: 'several-queues',
    does: 'test -n "$(n)"',
    lines: ['n = 1', 'queue', 'n = 2'],
    right: (lines) => [
      ...lines.filter((line) => !/^(?:n =|queue)/.test(line)),
      ...['queue n from (', '1', '2', ')'],
    ],
  },
  { rule: 'bad-value', lines: ['universe = standard'], line: 'universe = vanilla' },
  ...['usr1', '"SIGTERM"'].map((word) => ({ rule: 'bad-value', lines: [`kill_sig = ${word}`] })),
  { rule: 'bad-value', lines: ['kill_sig = FOO'], line: 'kill_sig = SIGTERM' },
  ...['YES', 'IF_NEEDED'].map((word) => ({
    rule: 'bad-value',
    lines: ['should_transfer_files = MAYBE'],
    line: `should_transfer_files = ${word}`,
  })),
  { rule: 'bad-value', lines: ['stream_output = yes'], line: 'stream_output = false' },
  { rule: 'bad-expression', lines: ['request_memory = 1 gigs'] },
  { rule: 'comment-in-value', lines: ['request_cpus = 1 # one for loading'] },
  { rule: 'bad-expression', lines: ['+SingularityBind = /data:/data'] },
  { rule: 'bad-expression', lines: ['periodic_hold_reason = too long'] },
  {
    rule: 'executable-missing',
    lacks: /^(?:executable|transfer_executable|arguments) =/,
    files: { 'train.sh': '#!/bin/sh\n' },
  },
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
