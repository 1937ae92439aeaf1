/** Hold reasons that are pasted: what is recognized as one, and what is said about it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { explainReason, explainReasons, hasReasons } from './explain-reason.ts';

const causes: [name: string, pasted: string, cause: string, because: RegExp][] = [
  [
    'words alone',
    'Error from slot1_1@e1.example.org: Job has gone over cgroup memory limit of 2048 megabytes. Peak usage: 1940 megabytes.',
    'memory-exceeded',
    /2048 MB requested/,
  ],
  [
    'the lines of an event log',
    'Transfer output files failure at execution point slot1@e1. Details: reading from file /x/out.pt: (errno 2) No such file\n\tCode 12 Subcode 2',
    'output-missing',
    /without writing \/x\/out\.pt/,
  ],
  [
    'attributes of an ad',
    'HoldReason = "The job exceeded allowed execute duration of 0+01:00:00"\nHoldReasonCode = 47\nHoldReasonSubCode = 0\n',
    'time-limit',
    /allowed_execute_duration of 0/,
  ],
  ['the words of condor_hold', 'via condor_hold (by user alice)', 'user', /A user held it/],
  [
    'the words of a rule',
    "The job attribute PeriodicHold expression 'x > 3' evaluated to TRUE",
    'job-policy',
    /A rule of the job/,
  ],
  ['the words of spooling', 'Spooling input data files', 'staging', /being copied/],
  [
    'a full disk of the machine',
    'Error from glidein_1@wn29: STARTER at 10.1.5.29 failed to write to file /x/dir_5025/a: (errno 28) No space left on device',
    'disk-full',
    /disk of the machine was full/,
  ],
  [
    'an attribute that the machine does not have, whatever its name',
    'Cannot expand $$(Memory).',
    'attribute-missing',
    /from the machine: Cannot expand/,
  ],
  ['a credential', 'Job credentials are not available', 'credential-missing', /no credential of the kind/],
  ['words that nobody knows', 'gremlins <script>', 'unknown', /this reason: gremlins <script>/],
];

for (const [name, pasted, cause, because] of causes)
  test(`a pasted hold reason is explained: ${name}`, () => {
    const explanation = explainReason(pasted);
    assert.equal(explanation.cause, cause);
    assert.match(explanation.because.join(' '), because);
    assert.ok(explanation.advice.length > 0);
  });

test('an input that cannot be read is not advised about writing', () => {
  const { advice } = explainReason(
    'Transfer input files failure at access point ap while sending files to the execution point. Details: reading from file /home/u/x.dat: (errno 13) Permission denied',
  );
  assert.match(advice[0] ?? '', /^Make the file readable for you/);
});

const table = `

-- Schedd: ap.example.org : <192.0.2.1:9618?... @ 05/31/22 10:07:54
 ID        OWNER    HELD_SINCE  HOLD_REASON
 12.5184   alice     5/25 14:51 Error from slot1_3@e327: Docker job has gone over memory limit of 16384 Mb
 12.5185   alice     5/25 14:47 Error from slot1_4@e2353: Docker job has gone over memory limit of 8192 Mb
 13.0      bob       5/25 14:47 via condor_hold (by user bob)

Total for query: 3 jobs; 0 completed, 0 removed, 0 idle, 0 running, 3 held, 0 suspended
`;

test('the table of condor_q -hold and reasons line by line have one explanation for each reason', () => {
  const read = (pasted: string): string[][] => explainReasons(pasted).map(({ job, cause }) => [job, cause]);
  assert.deepEqual(read(table), [
    ['12.5184, 12.5185', 'memory-exceeded'],
    ['13.0', 'user'],
  ]);
  const lines =
    'Error from slot1@e: Failed to execute\n  /x/run.sh: (errno=8: Exec format error)\nvia condor_hold (by user bob)\n';
  assert.deepEqual(read(lines), [
    ['Reason 1', 'command-missing'],
    ['Reason 2', 'user'],
  ]);
  const counted =
    '      3 Transfer input files failure: x: (errno 2) No such file\n     12 via condor_hold (by user bob)\n';
  assert.deepEqual(read(counted), [
    ['Reason 1', 'input-missing'],
    ['Reason 2', 'user'],
  ]);
  const other = '1297254.0   nemo         5/31 18:05  14+17:40:01 R  0   7.3  condor_dagman\n';
  assert.deepEqual([table, lines, other, 'import torch\n'].map(hasReasons), [true, true, false, false]);
});

test('words about folders and batch systems are not about transfers, also without a code', () => {
  const cause = (reason: string): string => explainReason(reason).cause;
  assert.equal(cause('Cannot access initial working directory /home/x: Permission denied'), 'file-unusable');
  assert.equal(cause('BLAH_JOB_SUBMIT timed out'), 'unknown');
});

test('a count before the only reason, and a prompt after a table, belong to none', () => {
  const [counted] = explainReasons('   3 Failed to execute /x/y: (errno=2: No such file or directory)\n');
  assert.match(counted?.evidence[0]?.lines[0] ?? '', /^Failed to execute/);
  const row = '12.0 ada 11/16 09:12 Job has gone over cgroup memory limit of 4096 megabytes.';
  const [only] = explainReasons(`${row}\n[ada@ap ~]$ condor_q\n`);
  assert.doesNotMatch(JSON.stringify(only), /condor_q/);
});

test('a reason that mail has wrapped keeps its figures, also in a table', () => {
  const words = [
    'Error from slot1@e1: Job has',
    'gone over cgroup memory limit of 4096 megabytes. Last',
    'usage: 4080',
  ];
  const row = `12345.0   ada     11/16 09:12 ${words.join('\n')}`;
  for (const pasted of [words.join('\n'), `> ${row.replaceAll('\n', '\n> ')}\n>\n> Thanks, Ada\n`]) {
    const [one, ...others] = explainReasons(pasted);
    assert.equal(others.length, 0, pasted);
    assert.match(one?.because.join(' ') ?? '', /4096 MB requested/, pasted);
    assert.doesNotMatch(JSON.stringify(one), /Thanks/);
  }
});

test('a table of condor_q -hold and ads of condor_q -l are read with Windows line ends and quoted in a mail', () => {
  const table = [
    ' ID    OWNER HELD_SINCE  HOLD_REASON',
    '12.0   ada   11/16 09:12 via condor_hold (by user ada)',
    '12.1   ada   11/16 09:12 Spooling input data files',
  ];
  const ads = [
    'ClusterId = 12',
    'ProcId = 0',
    'JobStatus = 1',
    '',
    'ClusterId = 12',
    'ProcId = 1',
    'JobStatus = 2',
  ];
  for (const [before, end] of [
    ['', '\n'],
    ['', '\r\n'],
    ['> ', '\n'],
    ['>> ', '\r\n'],
  ] as const) {
    const pasted = (lines: readonly string[]): string =>
      ['', ...lines].map((line) => before + line).join(end);
    assert.ok(hasReasons(pasted(table)));
    for (const lines of [table, ads])
      assert.deepEqual(
        explainReasons(pasted(lines)).map(({ job }) => job),
        ['12.0', '12.1'],
      );
  }
});

test('what removed a job is no hold', () => {
  const reasons = [
    'Job removed by SYSTEM_PERIODIC_REMOVE due to wall time exceeded allowed max.',
    'via condor_rm (by user alice)',
  ];
  const found = reasons.map((reason) => explainReason(reason));
  assert.deepEqual(
    found.map(({ standing, cause }) => [standing, cause]),
    [
      ['removed', 'time-limit'],
      ['removed', 'user'],
    ],
  );
  assert.match(found[0]?.because[0] ?? '', /removed it for its running time/);
});
