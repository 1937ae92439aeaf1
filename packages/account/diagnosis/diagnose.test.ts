/** Holds and evictions as pools report them, and the cause, figures and outlook that are read from each. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Cause } from '../codes/causes.ts';
import { adviceOn, diagnose } from './diagnose.ts';
import type { Account } from '../history/history.ts';

const said = (code: number | undefined, subcode: number | undefined, reason: string): Account => ({
  code,
  subcode,
  reason,
  resources: [],
  evidence: { file: 'job.log', offset: 0, at: '', lines: [] },
});

const at = 'Transfer input files failure at execution point slot1_1@siteA@node using protocol';
const back = 'Transfer output files failure at execution point slot1_1@siteA@node';
const sending = `${back} while sending files to access point ap`;
const received =
  'Transfer output files failure at access point ap while receiving files from execution point slot1_1@siteA@node';

const cases: [
  code: number | undefined,
  subcode: number | undefined,
  reason: string,
  cause: Cause,
  words: RegExp,
][] = [
  [
    undefined,
    undefined,
    'Error from slot1@node: FILETRANSFER: transfer of osdf input stalled: aborted due to lack of progress',
    'transfer-stalled',
    /stalled/,
  ],
  [
    undefined,
    undefined,
    'Error from slot1@node: FILETRANSFER: Details: upload of output: connection refused',
    'servers-unreachable',
    /could not be reached/,
  ],
  [
    13,
    256,
    `${at} http. Details: The requested URL returned error: 404 ( URL file = http://a/x )|`,
    'object-missing',
    /http:\/\/a\/x does not exist/,
  ],
  [
    13,
    256,
    `${at} https. Details: The requested URL returned error: 403 ( URL file = https://a/404.dat )|`,
    'access-refused',
    /denied access/,
  ],
  [
    13,
    256,
    `${at} https. Details: Aborted due to lack of progress ( URL file = https://a/x )|`,
    'transfer-stalled',
    /stalled/,
  ],
  [
    13,
    2816,
    `${at} osdf. Details: Pelican Client Error: Transfer.SlowTransfer: cancelled transfer, too slow ( URL file = osdf:///a/x )|`,
    'transfer-stalled',
    /osdf:\/\/\/a\/x/,
  ],
  [
    13,
    256,
    `${at} osdf. Details: failed to download file: server returned 404 Not Found ( URL file = osdf:///a/x )|`,
    'object-missing',
    /osdf:\/\/\/a\/x/,
  ],
  [
    13,
    256,
    `${at} osdf. Details: failed to download file: server returned 404 Not Found (URL file = osdf:///a/x)|`,
    'object-missing',
    /osdf:\/\/\/a\/x does/,
  ],
  [
    13,
    256,
    `${at} osdf. Details: Pelican Client Error: Authorization: token is expired ( URL file = osdf:///a/x )|`,
    'access-refused',
    /denied access/,
  ],
  [
    13,
    256,
    `${at} http. Details: The requested URL returned error: 503 ( URL file = http://a/x )|`,
    'server-failed',
    /failed/,
  ],
  [
    13,
    256,
    `${at} http. Details: Could not resolve host: nowhere.example ( URL file = http://nowhere.example/x )|`,
    'servers-unreachable',
    /could not be reached/,
  ],
  [
    13,
    -1004,
    `${at} x. Details: file transfer plugin p.sh exited (exit code 3), no valid classads in output file /s/.p.sh.out`,
    'plugin-failed',
    /code 3 without reporting/,
  ],
  [13, -1001, `${at} x. Details: plugin not there`, 'plugin-failed', /not installed/],
  [13, -1002, `${at} x. Details: user-supplied plugin not allowed`, 'plugin-failed', /disabled/],
  [13, 62, `${at} x.`, 'plugin-failed', /exceeded the pool's time limit/],
  [
    13,
    2,
    'Transfer input files failure at access point ap while sending files to execution point slot1@n. Details: reading from file /home/a/in.dat: (errno 2) No such file or directory',
    'input-missing',
    /\/home\/a\/in\.dat does not exist/,
  ],
  [
    12,
    2,
    `${back} while sending files to access point ap. Details: reading from file /e/dir_1/scratch/out.bin: (errno 2) No such file or directory`,
    'output-missing',
    /without writing out\.bin/,
  ],
  // Until 2021, output transfers had today's code of input transfers.
  [
    13,
    2,
    'Error from slot1@n: STARTER at 10.0.0.2 failed to send file(s) to <10.0.0.1:9618>: error reading from /e/dir_1/out.bin: (errno 2) No such file or directory; SHADOW failed to receive file(s)',
    'output-missing',
    /without writing out\.bin/,
  ],
  // Not a server but the access point's own folder said this.
  [
    12,
    13,
    'Transfer output files failure at access point ap while receiving files from execution point slot1@n. Details: writing to file /home/a/results/0000/o: (errno 13) Permission denied',
    'output-failed',
    /access point could not write \/home\/a\/results\/0000\/o \(Permission denied\)/,
  ],
  [
    12,
    28,
    `${received}. Details: No space left on device`,
    'access-point-full',
    /disk full or quota exceeded/,
  ],
  [12, 28, `${sending}. Details: No space left on device`, 'disk-full', /disk of the machine was full/],
  [
    12,
    256,
    `${back} using protocol http. Details: The requested URL returned error: 403 ( URL file = http://a/x )`,
    'access-refused',
    /denied access/,
  ],
  [
    32,
    0,
    'TransferInputSizeMB (158783) is greater than MAX_TRANSFER_INPUT_MB (5000) at submit time',
    'input-too-big',
    /158783 MB, limit 5000 MB/,
  ],
  [
    33,
    0,
    'sending file o.bin: max total download bytes exceeded (max=3 MB, this file=6 MB)',
    'output-too-big',
    /limit 3 MB, exceeded at a file of 6 MB/,
  ],
  [
    34,
    102,
    'Job has gone over cgroup memory limit of 2048 megabytes. Last measured usage: 2047 megabytes. Consider resubmitting with a higher request_memory.',
    'memory-exceeded',
    /2048 MB requested, 2047 MB at the last measurement/,
  ],
  [
    21,
    1001,
    'Error from slot1_2@n: Policy violation. Memory limit exceeded: requested 4000MB, used 4100MB.',
    'memory-exceeded',
    /4000 MB requested, 4100 MB used/,
  ],
  [21, 103, 'Error from slot1_2@n: disk usage exceeded request_disk', 'disk-exceeded', /disk/],
  [34, 104, '', 'disk-exceeded', /disk/],
  [
    47,
    0,
    'The job exceeded allowed execute duration of 20:00:00',
    'time-limit',
    /allowed_execute_duration of 20:00:00/,
  ],
  [
    46,
    0,
    'The job exceeded allowed job duration of 1+04:00:00',
    'time-limit',
    /allowed_job_duration of 1\+04:00:00/,
  ],
  [
    6,
    2,
    "Error from slot1@n: Failed to execute '/e/dir_1/scratch/run.sh': (errno=2: 'No such file or directory')",
    'command-missing',
    /run\.sh could not be started: the program, or the interpreter/,
  ],
  [
    6,
    8,
    "Failed to execute '/e/dir_1/scratch/run': (errno=8: 'Exec format error')",
    'command-missing',
    /built for another processor/,
  ],
  [
    6,
    13,
    "Failed to execute '/e/dir_1/scratch/run': (errno=13: 'Permission denied')",
    'command-missing',
    /not executable/,
  ],
  [6, 116, '', 'machine-broken', /errno 116/],
  [
    45,
    -1000,
    'Error from slot1@n: Singularity test failed:FATAL: no such image',
    'image-unusable',
    /could not be used/,
  ],
  [
    undefined,
    undefined,
    'Error from slot1@n: Singularity test failed:FATAL: no such image',
    'image-unusable',
    /could not be used/,
  ],
  [35, 0, 'Cannot start container: invalid image name: no/such:tag', 'image-unusable', /could not be used/],
  [
    7,
    13,
    "Error from slot1@n: Failed to open '/home/a/out' as standard output: Permission denied (errno 13)",
    'file-unusable',
    /could not be opened/,
  ],
  [
    undefined,
    undefined,
    "Error from slot1@n: Failed to open '/home/a/out' as standard output: Permission denied (errno 13)",
    'file-unusable',
    /could not be opened/,
  ],
  [1, 0, 'memory usage exceeded, says my advisor (by user alice)', 'user', /A user held it/],
  [3, 7, 'Transfer input files failure is what my rule says', 'job-policy', /rule of the job/],
  [26, 0, 'Job has too many restarts', 'pool-policy', /too many restarts/],
  [16, 0, 'Spooling input data files', 'staging', /being copied/],
  [19, 1, 'prepare hook failed', 'machine-broken', /could not prepare/],
  [
    1008,
    0,
    'Job disconnected too long: JobLeaseDuration (2400 seconds) expired',
    'disconnected',
    /not restored in time/,
  ],
  [1014, 0, 'Startd was draining', 'evicted', /drained/],
  [1019, 0, '', 'evicted', /better priority/],
  [
    3,
    45,
    'started 3 times; the last attempt ended: Error from slot1@n: Singularity test failed:FATAL: no',
    'image-unusable',
    /could not be used/,
  ],
];

for (const [code, subcode, reason, cause, words] of cases)
  test(`${code ?? 'no code'}/${subcode ?? '-'} "${reason.slice(0, 60)}" is ${cause}`, () => {
    const diagnosis = diagnose(said(code, subcode, reason));
    assert.equal(diagnosis.cause, cause);
    assert.match(diagnosis.because[0] ?? '', words);
    assert.ok(adviceOn(diagnosis, { isOurs: true }).length > 0, 'there is always advice');
  });

test('an unknown reason is quoted with its codes, without guessing a cause', () => {
  for (const [code, subcode] of [
    [77, 3],
    [0, 0],
    [undefined, undefined],
    [4711, 9],
  ] as const) {
    const { cause, because, outlook } = diagnose(said(code, subcode, 'The flux is out of phase'));
    assert.equal(cause, 'unknown');
    assert.match(because.join(' '), /The flux is out of phase/);
    if (code !== undefined && code < 1000) assert.match(because.join(' '), new RegExp(`code ${code}`));
    assert.notEqual(outlook, 'lasting');
  }
});

test('resident memory does not explain an image size limit', () => {
  const words = 'Error from slot1@n: Your job used too much memory, as measured by ImageSize.';
  const { cause, because, advice } = diagnose(said(21, 0, words), 85);
  assert.equal(cause, 'memory-exceeded');
  assert.doesNotMatch([...because, ...advice].join(' '), /\d+ MB/);
});

test('a hold without a reason says so', () => {
  assert.match(
    diagnose(said(0, 0, 'Reason unspecified')).because[0] ?? '',
    /code 0, subcode 0 and no reason/,
  );
});

test('every hold and eviction code gets a sentence, whatever its subcode', () => {
  for (let code = 0; code < 60; code++) assert.ok(diagnose(said(code, -1003, 'x')).because[0]);
  for (let code = 1000; code < 1050; code++) assert.ok(diagnose(said(code, 0, '')).because[0]);
});
