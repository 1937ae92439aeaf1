import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { codesTable } from '../../scripts/codes-table.ts';
import { type Cause, exitOfHold, faultOfHold, type Remedy, remedyForHold } from '@updraft/account/codes';
import { causeOf, codeRowOf, exitCause, removalCause } from '@updraft/account/testing';
import type { FaultKind } from '@updraft/account/fault';

/** What codes mean according to HTCondor's own list (condor_holdcodes.h), independent of our table. */
const meanings: [cause: Cause, fault: FaultKind, answer: Remedy, codes: string][] = [
  ['user', 'interrupted', 'never', '1 15'],
  ['job-policy', 'pool-hold', 'never', '3 5 20 25'],
  ['credential-missing', 'token-missing', 'never', '4'],
  ['command-missing', 'command-missing', 'never', '6 6/2 6/8 6/13'],
  ['machine-broken', 'self-test-failed', 'elsewhere', '6/5 6/11 6/12 6/116 19 23 48 49'],
  ['file-unusable', 'file-invalid', 'never', '7 8 9 10 14 22'],
  ['transfer-failed', 'transfer-failed', 'later', '11 13 18 13/256'],
  ['output-failed', 'transfer-failed', 'later', '12 12/256'],
  [
    'plugin-failed',
    'transfer-failed',
    'later',
    '12/-1001 12/-1004 13/-1001 13/-1002 13/-1003 13/-1004 13/62',
  ],
  ['output-missing', 'wrong-output', 'never', '12/2'],
  ['access-point-full', 'run-folder-full', 'never', '12/28 12/122 9/28 9/122 22/28 22/122'],
  ['input-missing', 'file-invalid', 'never', '13/2'],
  ['disk-full', 'disk-full', 'elsewhere', '13/28 13/122'],
  ['staging', 'pool-hold', 'never', '16'],
  ['pool-policy', 'pool-hold', 'never', '17 24 26 27'],
  ['site-policy', 'pool-hold', 'never', '21 34 34/7'],
  ['memory-exceeded', 'memory-exceeded', 'more-memory', '21/102 34/102'],
  ['disk-exceeded', 'disk-full', 'more-disk', '21/104 34/104'],
  ['input-too-big', 'file-invalid', 'never', '32'],
  ['output-too-big', 'wrong-output', 'never', '33'],
  ['image-unusable', 'environment-broken', 'later', '35'],
  ['image-unusable', 'environment-broken', 'elsewhere', '45 45/-1000'],
  ['checkpoint-failed', 'transfer-failed', 'later', '36'],
  ['exit-code', 'training-failed', 'never', '43 44'],
  ['time-limit', 'time-limit', 'never', '46'],
  ['time-limit', 'time-limit', 'elsewhere', '47'],
  ['machine-broken', 'self-test-failed', 'never', '1002 1003 1006 1007 1012 1020 1021 1024 1031 1036'],
  ['disconnected', 'evicted', 'never', '1008'],
  [
    ...(['evicted', 'evicted', 'never'] as const),
    '1000 1001 1005 1009 1010 1011 1013 1014 1015 1016 1017 1018 1019 1022 1025 1026 1027 1030 1032 1035 1037',
  ],
  ['unknown', 'pool-hold', 'never', '0 2 777 1004 1099'],
];

for (const [cause, fault, answer, codes] of meanings)
  test(`${codes} are ${cause}`, () => {
    for (const pair of codes.split(' ')) {
      const [code = 0, subcode = 0] = pair.split('/').map(Number);
      const said = { code, subcode, reason: '' };
      assert.equal(causeOf(code, subcode), cause, pair);
      assert.equal(faultOfHold(code, subcode, '').kind, fault, pair);
      assert.equal(remedyForHold(said, 1), answer, pair);
    }
  });

const sending =
  'Transfer input files failure at access point ap while sending files to execution point n. Details: reading from file';
const returning =
  'Transfer output files failure at execution point n while sending files to access point ap. Details: reading from file';
const at = 'Transfer input files failure at execution point slot1_1@node using protocol osdf. Details:';
const from = 'Error from slot1_1@node:';

/** Words decide where the code is missing or misleading. */
const worded: [code: number | undefined, subcode: number, reason: string, cause: Cause, says: RegExp][] = [
  [
    1007,
    0,
    `${from} Input File transfer stalled for 3620 seconds`,
    'transfer-stalled',
    /cache or the file-transfer plugin is to blame/,
  ],
  [
    1007,
    0,
    `${from} StreamHandler: stdout: couldn't write to 3/7.out: Disk quota exceeded (-1!=48)`,
    'access-point-full',
    /quota exceeded/,
  ],
  [
    7,
    122,
    "Failed to open '/home/a/7.out' as standard output: Disk quota exceeded (errno 122)",
    'access-point-full',
    /quota/,
  ],
  [
    6,
    0,
    `${from} Failed to execute 'a.sh': invalid interpreter (/bin/zsh)`,
    'command-missing',
    /first line names/,
  ],
  [
    6,
    2,
    `${from} Failed to execute 'a': (errno=2: 'No such file or directory')`,
    'command-missing',
    /not exist/,
  ],
  [
    6,
    8,
    `${from} Failed to execute 'a': (errno=8: 'Exec format error')`,
    'command-missing',
    /another processor/,
  ],
  [
    6,
    13,
    `${from} Failed to execute 'a': (errno=13: 'Permission denied')`,
    'command-missing',
    /permission denied/,
  ],
  [
    34,
    0,
    `${from} Job has gone over disk limit: more disk space than requested`,
    'disk-exceeded',
    /more disk/,
  ],
  [26, 103, 'Memory usage exceeded request_memory', 'memory-exceeded', /used more memory/],
  [
    45,
    0,
    `${from} Singularity test failed:FATAL: Unable to handle docker://a/b:c uri: reading manifest c in docker.io/a/b: errors: denied: requested access to the resource is denied`,
    'image-missing',
    /does not have the container image/,
  ],
  [26, 0, 'The job attribute SYSTEM_PERIODIC_HOLD is true: excessive memory', 'memory-exceeded', /memory/],
  [26, 102, 'Excessive CPU usage: 8 used, 1 requested', 'cpu-exceeded', /CPU usage/],
  [26, 0, 'Job used more disk space than requested.', 'disk-exceeded', /more disk/],
  [26, 0, 'Job has been running for over 72 hours', 'time-limit', /running time/],
  [
    undefined,
    0,
    `${from} Failed to create a user nobody`,
    'machine-broken',
    /^The machine is broken.*account/,
  ],
  [
    undefined,
    0,
    `${from} Assertion ERROR on (lvm_setup_successful)`,
    'machine-broken',
    /^The machine is broken.*LVM/,
  ],
  [
    12,
    256,
    'Transfer output files failure at execution point slot1@n using protocol osdf. Details: remote object already exists, upload aborted',
    'output-failed',
    /never overwritten/,
  ],
  [
    12,
    28,
    'Transfer output files failure at execution point slot1@n while sending files to access point ap. Details: writing to file /e/.out: (errno 28) No space left on device',
    'disk-full',
    /disk of the machine/,
  ],
  [
    12,
    28,
    'Transfer output files failure at access point ap while receiving files from execution point slot1@n. Details: writing to file /home/a/out.pt: (errno 28) No space left on device',
    'access-point-full',
    /access point: disk full/,
  ],
  [1008, 0, 'Job not found at execution machine', 'disconnected', /the job was gone/],
  [1008, 0, 'Startd is no longer at old port, job must have been killed', 'disconnected', /the job was gone/],
  [
    13,
    28,
    'Transfer input files failure at execution point slot1@n. Details: writing to file /e/in.dat: (errno 28) No space left on device',
    'disk-full',
    /disk of the machine/,
  ],
  [
    13,
    256,
    `${at} Attempt #1: from cache.example:8443: timer expired (1m1.4s elapsed) ( URL file = osdf:///a/x )`,
    'transfer-stalled',
    /stalled/,
  ],
  [
    13,
    256,
    `${at} director: No sources found for the object ( URL file = osdf:///a/x )`,
    'object-missing',
    /director .* osdf:\/\/\/a\/x/,
  ],
  [
    13,
    2,
    'Transfer input files failure at access point ap. Details: reading from file /tmp/x509up_u501: (errno 2) No such file or directory',
    'access-refused',
    /Your proxy/,
  ],
  // The words of HTCondor about its own files decide, whatever the subcode.
  ...[0, 256].flatMap((subcode): typeof worded => [
    [13, subcode, `${sending} /a/in: (errno 2) No such file`, 'input-missing', /does not exist/],
    [13, subcode, `${sending} /a/in: (errno 13) Permission denied`, 'file-unusable', /cannot read/],
    [12, subcode, `${returning} /e/out: (errno 2) No such file`, 'output-missing', /without writing/],
  ]),
  [13, 256, `${sending} /a/in: (errno 256) Unknown error 256`, 'transfer-failed', /transferred/],
  [
    21,
    1001,
    `${from} Policy violation. Memory limit exceeded: requested 4000MB, used 4100MB.`,
    'memory-exceeded',
    /memory/,
  ],
];

for (const [code, subcode, reason, cause, says] of worded)
  test(`"${reason.slice(0, 90)}" is ${cause}`, () => {
    assert.equal(causeOf(code, subcode, reason), cause);
    assert.match(
      codeRowOf({ code, subcode, reason })?.sentence.replaceAll(/\{url[^}]*\}/g, 'osdf:///a/x') ?? '',
      says,
    );
  });

test("an existing object is never tried again; a site's memory hold is tried with more memory", () => {
  const exists = 'Transfer output files failure. Details: remote object already exists, upload aborted';
  assert.equal(remedyForHold({ code: 12, subcode: 256, reason: exists }, 1), 'never');
  assert.equal(remedyForHold({ code: 12, subcode: 256, reason: 'Details: connection reset' }, 1), 'later');
  assert.equal(remedyForHold({ code: 21, subcode: 1001, reason: 'Memory limit exceeded' }, 1), 'more-memory');
});

const removed: [reason: string, cause: Cause, says: RegExp][] = [
  ['via condor_rm (by user alice)', 'user', /^alice removed it with condor_rm\.$/],
  ['no longer needed (by user alice)', 'user', /^alice removed it: no longer needed\.$/],
  ['via condor_rm', 'user', /^A user removed it/],
  [
    "The job attribute OtherJobRemoveRequirements expression 'DAGManJobId == 7' evaluated to TRUE",
    'user',
    /such as a DAG/,
  ],
  ['The system macro SYSTEM_PERIODIC_REMOVE is true: wall time over 72 h', 'time-limit', /running time/],
  [
    'The system macro SYSTEM_PERIODIC_REMOVE is true: memory over 3x the request',
    'memory-exceeded',
    /memory/,
  ],
  ['The system macro SYSTEM_PERIODIC_REMOVE is true', 'pool-policy', /rule of the access point/],
  ["The job attribute PeriodicRemove expression 'x' evaluated to TRUE", 'job-policy', /rule of the job/],
  ['the flux is out of phase', 'unknown', /this reason/],
  ['', 'unknown', /does not say who did it/],
];

test("HTCondor's words show who removed a job", () => {
  for (const [reason, cause, says] of removed) {
    const [found, sentence] = removalCause(reason);
    assert.equal(found, cause, reason);
    assert.match(sentence, says);
  }
});

test("holds by the rules of a run name the agent's fault; the same codes of other jobs mean nothing", () => {
  const own: [subcode: number, reason: string, cause: Cause, fault: FaultKind, exit: number | undefined][] = [
    [96, 'the attempt ended with exit code 96', 'object-missing', 'object-missing', 96],
    [137, 'the agent was ended by signal 9', 'agent-killed', 'evicted', undefined],
    [2, 'given up: no valid result within 3600 s', 'time-limit', 'time-limit', undefined],
    [13, `started 5 times; the last attempt ended: ${at} 404`, 'object-missing', 'object-missing', undefined],
    [1, 'started 25 times; the last attempt ended: it fell over', 'unknown', 'pool-hold', undefined],
    [96, 'my own rule says so', 'job-policy', 'pool-hold', undefined],
    [2, '', 'job-policy', 'pool-hold', undefined],
  ];
  for (const [subcode, reason, cause, fault, exit] of own) {
    assert.equal(causeOf(3, subcode, reason), cause, reason);
    assert.equal(faultOfHold(3, subcode, reason).kind, fault, reason);
    assert.equal(exitOfHold(3, subcode, reason), exit, reason);
  }
});

test('exit codes from 86 to 120 have a meaning only in runs of Updraft', () => {
  const ended = { normal: true as const, returnValue: 90 };
  assert.equal(exitCause(ended, true), 'discovery-failed');
  assert.equal(exitCause(ended, false), 'exit-code');
  assert.equal(exitCause({ ...ended, returnValue: 0 }, false), 'none');
  assert.equal(exitCause({ ...ended, returnValue: 3 }, true), 'exit-code');
});

test('the table in the docs has each row, with no unfilled names', () => {
  const rowsOf = (text: string) => text.split('\n').filter((line) => line.startsWith('| '));
  const page = rowsOf(readFileSync(path.join(import.meta.dirname, '../../docs/recovery.md'), 'utf8'));
  const rows = rowsOf(codesTable());
  const at = page.indexOf(rows[0] ?? '');
  assert.deepEqual(page.slice(at, at + rows.length), rows);
  assert.ok(!/[{}]/.test(codesTable()));
});
