import assert from 'node:assert/strict';
import { test } from 'node:test';
import { only, parseEventLog, stamps } from '../../../test/eventlogs/plain.ts';
import { Expression } from '../classad/ad.ts';
import type { EventKind } from './kinds.ts';

const usage = 'Usr 1 02:03:04, Sys 0 00:00:05';
const table = [
  '\tPartitionable Resources :    Usage  Request Allocated Assigned',
  '\t   Cpus                 :     0.97        1         1 ',
  '\t   Disk (KB)            :    17       102400    102400 ',
  '\t   GPUs                 :                 1         1 "GPU-a1,GPU-b2"',
  '\t   Machine_token_of_site :                           0 ',
  '\t   TimeExecute (s)      :    40                        ',
].join('\n');
const rows = [
  { name: 'Cpus', usage: 0.97, request: 1, allocated: 1 },
  { name: 'Disk', unit: 'KB', usage: 17, request: 102_400, allocated: 102_400 },
  { name: 'GPUs', request: 1, allocated: 1 },
  { name: 'Machine_token_of_site', allocated: 0 },
  { name: 'TimeExecute', unit: 's', usage: 40 },
];

const bodies: [number: string, kind: EventKind, body: string, details: object][] = [
  [
    '000',
    'submit',
    'Job submitted from host: <192.0.2.1:9618>\n    [ JobBatchName = "night run"; DAGNodeName = "A" ]\n    my note\n    WARNING: Committed job submission into the queue with the following warning(s): no disk',
    {
      host: '<192.0.2.1:9618>',
      batchName: 'night run',
      dagNode: 'A',
      notes: ['my note'],
    },
  ],
  [
    '000',
    'submit',
    'Job submitted from host: <192.0.2.1:9618>\n    DAG Node: B',
    { host: '<192.0.2.1:9618>', dagNode: 'B', notes: [] },
  ],
  [
    '001',
    'execute',
    'Job executing on host: <192.0.2.2:9618>\n\tSlotName: slot1_1@e1\n\tGLIDEIN_ResourceName = "PDX-Coeus-CE1"\n\tCpus = 1\n\tGPUs_GPU_a1 = [ Id = "GPU-a1"; Capability = 8.0 ]',
    {
      host: '<192.0.2.2:9618>',
      slot: 'slot1_1@e1',
      attributes: {
        GLIDEIN_ResourceName: 'PDX-Coeus-CE1',
        Cpus: 1,
        GPUs_GPU_a1: { Id: 'GPU-a1', Capability: 8 },
      },
    },
  ],
  [
    '003',
    'checkpointed',
    `Job was checkpointed.\n\t${usage}  -  Run Remote Usage\n\t9  -  Run Bytes Sent By Job For Checkpoint`,
    {},
  ],
  [
    '004',
    'evicted',
    `Job was evicted. Code 1022 Subcode 3\n\t(0) CPU times\n\t\t${usage}  -  Run Remote Usage\n\t12  -  Run Bytes Sent By Job\n\tReason: Job vacated by schedd\n${table}`,
    {
      checkpointed: false,
      requeued: false,
      reason: 'Job vacated by schedd',
      code: 1022,
      subcode: 3,
      bytes: { runSent: 12 },
      resources: rows,
    },
  ],
  [
    '004',
    'evicted',
    `Job was evicted.\n\t(0) Job terminated and was requeued\n\t\t${usage}  -  Run Local Usage\n\t5  -  Run Bytes Received By Job\n\t(0) Abnormal termination (signal 9)\n\t(1) Corefile in: /tmp/core 1\n\tThe job attribute OnExitRemove expression 'x' evaluated to FALSE`,
    {
      checkpointed: false,
      requeued: true,
      termination: { normal: false, signal: 9 },
      reason: "The job attribute OnExitRemove expression 'x' evaluated to FALSE",
      bytes: { runReceived: 5 },
      resources: [],
    },
  ],
  [
    '004',
    'evicted',
    'Job was evicted.\n\t(1) Job was checkpointed.',
    { checkpointed: true, requeued: false, bytes: {}, resources: [] },
  ],
  [
    '005',
    'terminated',
    `Job terminated.\n\t(1) Normal termination (return value 3)\n\t\t${usage}  -  Run Remote Usage\n\t\t${usage}  -  Total Local Usage\n\t7  -  Run Bytes Sent By Job\n\t8  -  Total Bytes Received By Job\n${table}\n\n\tJob terminated of its own accord at 2024-04-20T03:43:25Z with exit-code 3.`,
    {
      termination: { normal: true, returnValue: 3 },
      bytes: { runSent: 7 },
      resources: rows,
      ended: Date.UTC(2024, 3, 20, 3, 43, 25),
    },
  ],
  [
    '006',
    'image-size',
    'Image size of job updated: 10000\n\t5  -  MemoryUsage of job (MB)\n\t5072  -  ResidentSetSize of job (KB)\n\t5000  -  ProportionalSetSize of job (KB)',
    { memoryUsageMb: 5 },
  ],
  [
    '007',
    'shadow-exception',
    'Shadow exception!\n\tError from slot1: disk\n\t0  -  Run Bytes Sent By Job\n\t6  -  Run Bytes Received By Job',
    { message: 'Error from slot1: disk', bytes: { runSent: 0, runReceived: 6 } },
  ],
  ['008', 'generic', 'progress {"step": 5}', { text: 'progress {"step": 5}' }],
  [
    '009',
    'aborted',
    'Job was aborted.\n\tvia condor_rm (by user alice)',
    { reason: 'via condor_rm (by user alice)' },
  ],
  [
    '009',
    'aborted',
    'Job was aborted by the user.\n\tvia condor_rm (by user alice)\n\n\tJob terminated by itself at 2024-04-20T03:43:25Z (using method 1: OF_ITS_OWN_ACCORD).',
    { reason: 'via condor_rm (by user alice)' },
  ],
  ['010', 'suspended', 'Job was suspended.\n\tNumber of processes actually suspended: 4', {}],
  ['011', 'unsuspended', 'Job was unsuspended.', {}],
  [
    '012',
    'held',
    'Job was held.\n\tTransfer input files failure: 404\n\tCode 13 Subcode 256',
    { reason: 'Transfer input files failure: 404', code: 13, subcode: 256 },
  ],
  ['012', 'held', 'Job was held.\n\tReason unspecified\n\tCode 0 Subcode 0', { code: 0, subcode: 0 }],
  [
    '013',
    'released',
    'Job was released.\n\tvia condor_release (by user alice)',
    { reason: 'via condor_release (by user alice)' },
  ],
  [
    '016',
    'post-script-terminated',
    'POST Script terminated.\n\t(1) Normal termination (return value 1)\n    DAG Node: C',
    { termination: { normal: true, returnValue: 1 }, dagNode: 'C' },
  ],
  [
    '021',
    'remote-error',
    'Error from starter on slot1_1@e1:\n\tSTARTER failed\n\tto receive\n\tCode 12 Subcode 2',
    { host: 'slot1_1@e1', text: 'STARTER failed\nto receive' },
  ],
  [
    '021',
    'remote-error',
    'Message from starter on slot1_1@e1:\n\tnote',
    { host: 'slot1_1@e1', text: 'note' },
  ],
  [
    '022',
    'disconnected',
    'Job disconnected, attempting to reconnect\n    Socket closed\n    Trying to reconnect to slot1_1@e1 <192.0.2.2:9618>',
    { slot: 'slot1_1@e1', host: '<192.0.2.2:9618>' },
  ],
  [
    '023',
    'reconnected',
    'Job reconnected to slot1_1@e1\n    startd address: <192.0.2.2:9618>\n    starter address: <192.0.2.2:9619>',
    { slot: 'slot1_1@e1', host: '<192.0.2.2:9618>' },
  ],
  [
    '024',
    'reconnect-failed',
    'Job reconnection failed\n    Job not found at execution machine\n    Can not reconnect to slot1_1@e1, rescheduling job',
    { reason: 'Job not found at execution machine' },
  ],
  [
    '028',
    'job-ad-information',
    'Job ad information event triggered.\nProc = 0\nOwner = "alice"\nCurrentTime = time()\nTriggerEventTypeNumber = 1',
    {
      attributes: {
        Proc: 0,
        Owner: 'alice',
        CurrentTime: new Expression('time()'),
        TriggerEventTypeNumber: 1,
      },
    },
  ],
  [
    '033',
    'attribute-update',
    'Changing job attribute JobPrio from 0 to 5',
    { name: 'JobPrio', from: '0', to: '5' },
  ],
  ['033', 'attribute-update', 'Setting job attribute ChirpNow to 7', { name: 'ChirpNow', to: '7' }],
  [
    '035',
    'cluster-submit',
    'Cluster submitted from host: <192.0.2.1:9618>',
    { host: '<192.0.2.1:9618>', notes: [] },
  ],
  [
    '036',
    'cluster-remove',
    'Cluster removed\n\tMaterialized 4 jobs from 2 items.\tError -3\n\tnote',
    { jobs: 4, completion: 'error' },
  ],
  [
    '040',
    'file-transfer',
    'Entered queue to transfer input files\n\tTransferring to host: <192.0.2.2:9618>',
    { direction: 'input', step: 'queued', host: '<192.0.2.2:9618>' },
  ],
  [
    '040',
    'file-transfer',
    'Started transferring output files\n\tSeconds spent in queue: 251',
    { direction: 'output', step: 'started' },
  ],
  ['040', 'file-transfer', 'Finished transferring output files', { direction: 'output', step: 'finished' }],
  ['002', 'other', '(0) Job file not executable.', {}],
  ['027', 'other', 'Job submitted to grid resource\n    GridResource: batch slurm', {}],
  ['777', 'other', 'From the future', {}],
];

for (const [number, kind, body, details] of bodies) {
  const name = `${number} ${kind}: ${body.split('\n')[0] ?? ''}`;
  test(`${name} gives its details, with either line end`, () => {
    const text = `${number} (12.003.000) 2026-11-15 00:11:39 ${body}\n...\n`;
    for (const written of [text, text.replaceAll('\n', '\r\n')]) {
      const event = only(written);
      assert.equal(event.kind, kind);
      assert.deepEqual(event.details, details);
    }
  });

  test(`${name} cut anywhere never throws`, () => {
    const text = `${number} (12.003.000) 2026-11-15 00:11:39 ${body}`;
    for (let length = 39; length < text.length; length++) assert.ok(only(text.slice(0, length)).details);
  });
}

test('a table whose blanks an editor turned into tabs is read by the order of its cells', () => {
  const event = only(
    '005 (1.0.0) 07/14 12:54:32 Job terminated.\n        Partitionable Resources :    Usage  Request Allocated\n           Memory (MB)          :     2690     6144\t 6144\n',
  );
  assert.ok(event.kind === 'terminated');
  assert.deepEqual(event.details.resources, [
    { name: 'Memory', unit: 'MB', usage: 2690, request: 6144, allocated: 6144 },
  ]);
});

test('a table without the allocated column is read', () => {
  const event = only(
    '005 (1.0.0) 07/14 12:54:32 Job terminated.\n\tPartitionable Resources :    Usage  Request          \n\t   Cpus                 :                 1         \n\t   Memory (MB)          :     2690     6144         \n...\n',
  );
  assert.ok(event.kind === 'terminated');
  assert.deepEqual(event.details.resources, [
    { name: 'Cpus', request: 1 },
    { name: 'Memory', unit: 'MB', usage: 2690, request: 6144 },
  ]);
});

test('a reason of many lines, with a whole transcript in it, stays one reason', () => {
  const event = only(
    '012 (1.0.0) 2026-11-15 00:11:39 Job was held.\n\tdocker: no image\n$ docker pull\n  {\n<c>\n\tCode 35 Subcode 0\n...\n',
  );
  assert.ok(event.kind === 'held');
  assert.deepEqual(event.details, {
    reason: 'docker: no image\n$ docker pull\n{\n<c>',
    code: 35,
    subcode: 0,
  });
});

test('of a figure that is repeated in a damaged event, the last counts', () => {
  const body = `Job terminated.
\t(1) Normal termination (return value 0)
\t7  -  Run Bytes Sent By Job
\t8  -  Run Bytes Sent By Job
\t-  Run Bytes Received By Job
\t9.5  -  Run Bytes Received By Job
\t5  -  Total Bytes Sent By Job
\tx  -  Total Bytes Sent By Job`;
  const { bytes } = only(`005 (1.0.0) 2026-01-01 10:00:00 ${body}\n...\n`).details as { bytes: object };
  assert.deepEqual(bytes, { runSent: 8, runReceived: 9.5 });
});

test('figures and tables are read at their place after letters of more than one byte, in UTF-8 and in Latin-1', () => {
  const rows = `\tReason: gelöscht von Käthe
\t47  -  Run Bytes Received By Job
\tPartitionable Resources :    Usage  Request Allocated
\t   Cpus                 :     0.97        1         1
\t   Mémoire (MB)         :     2690     6144      6144
\t   Disk (KB)            :    17       102400    102400 dévice
\t   Time (s)             :  3600`;
  const event = `004 (1.0.0) 2026-01-01 10:00:00 Job was evicted.\n\t(0) CPU times\n${rows}\n...\n`;
  for (const encoding of ['utf8', 'latin1'] as const) {
    const { events } = parseEventLog(Buffer.from(event, encoding), stamps);
    const { reason, bytes, resources } = events[0]?.details as Record<string, unknown>;
    assert.equal(String(reason).split('\n')[0], 'gelöscht von Käthe');
    assert.deepEqual(bytes, { runReceived: 47 });
    assert.deepEqual(resources, [
      { name: 'Cpus', usage: 0.97, request: 1, allocated: 1 },
      { name: 'Mémoire', unit: 'MB', usage: 2690, request: 6144, allocated: 6144 },
      { name: 'Disk', unit: 'KB', usage: 17, request: 102_400, allocated: 102_400 },
      { name: 'Time', unit: 's', usage: 3600 },
    ]);
  }
});
