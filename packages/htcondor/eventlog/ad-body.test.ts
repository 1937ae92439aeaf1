import assert from 'node:assert/strict';
import { test } from 'node:test';
import { only } from '../../../test/eventlogs/plain.ts';
import { Expression, type Ad } from '../classad/ad.ts';
import { eventNumbers, type EventKind } from './kinds.ts';

const ads: [kind: Exclude<EventKind, 'unknown'>, ad: Ad, details: object][] = [
  [
    'submit',
    {
      SubmitHost: '<a>',
      LogNotes: 'DAG Node: A',
      UserNotes: 'mine',
      Warnings: 'w',
      StructuredNotes: { JobBatchName: 'b' },
    },
    { host: '<a>', batchName: 'b', dagNode: 'A', notes: ['mine'] },
  ],
  [
    'execute',
    { ExecuteHost: '<b>', SlotName: 's', ExecuteProps: { Cpus: 1, GLIDEIN_ResourceName: 'x' } },
    { host: '<b>', slot: 's', attributes: { Cpus: 1, GLIDEIN_ResourceName: 'x' } },
  ],
  ['executable-error', { ExecuteErrorType: 1 }, {}],
  ['checkpointed', { SentBytes: 4.5e1 }, {}],
  [
    'evicted',
    {
      Checkpointed: false,
      TerminatedAndRequeued: true,
      TerminatedNormally: true,
      ReturnValue: 85,
      Reason: 'r',
      ReasonCode: 1022,
      SentBytes: 1,
      ReceivedBytes: 2,
    },
    {
      checkpointed: false,
      requeued: true,
      termination: { normal: true, returnValue: 85 },
      reason: 'r',
      code: 1022,
      subcode: 0,
      bytes: { runSent: 1, runReceived: 2 },
      resources: [],
    },
  ],
  [
    'terminated',
    {
      TerminatedNormally: false,
      TerminatedBySignal: 9,
      Cpus: 1,
      RequestCpus: 1,
      CpusUsage: 0.5,
      Disk: 10,
      RequestDisk: 9,
      DiskUsage: 8,
      GPUs: 1,
      RequestGPUs: 1,
      AssignedGPUs: 'GPU-a',
      TimeExecuteUsage: 60,
    },
    {
      termination: { normal: false, signal: 9 },
      bytes: {},
      resources: [
        { name: 'Cpus', usage: 0.5, request: 1, allocated: 1 },
        { name: 'Disk', unit: 'KB', usage: 8, request: 9, allocated: 10 },
        { name: 'GPUs', request: 1, allocated: 1 },
        { name: 'TimeExecute', unit: 's', usage: 60 },
      ],
    },
  ],
  [
    'image-size',
    { Size: 1, MemoryUsage: 2, ResidentSetSize: 3, ProportionalSetSize: 4 },
    { memoryUsageMb: 2 },
  ],
  ['shadow-exception', { Message: 'm', SentBytes: 1 }, { message: 'm', bytes: { runSent: 1 } }],
  ['generic', { Info: 'i   ' }, { text: 'i' }],
  ['aborted', { Reason: 'r' }, { reason: 'r' }],
  ['suspended', { NumberOfPIDs: 2 }, {}],
  ['unsuspended', {}, {}],
  [
    'held',
    { HoldReason: 'h "q" <x>', HoldReasonCode: 12, HoldReasonSubCode: 2 },
    { reason: 'h "q" <x>', code: 12, subcode: 2 },
  ],
  ['released', { Reason: 'r' }, { reason: 'r' }],
  ['node-execute', { Node: 1, ExecuteHost: '<b>' }, {}],
  ['node-terminated', { Node: 1, TerminatedNormally: true, ReturnValue: 0 }, {}],
  [
    'post-script-terminated',
    { TerminatedNormally: true, ReturnValue: 2, DAGNodeName: 'N' },
    { termination: { normal: true, returnValue: 2 }, dagNode: 'N' },
  ],
  ['globus-submit', { RMContact: 'r', JMContact: 'j' }, {}],
  ['globus-submit-failed', { Reason: 'r' }, {}],
  ['globus-resource-up', { RMContact: 'r' }, {}],
  ['globus-resource-down', { RMContact: 'r' }, {}],
  [
    'remote-error',
    {
      Daemon: 'starter',
      ExecuteHost: 's',
      ErrorMsg: 'e',
      CriticalError: 1,
      HoldReasonCode: 12,
      HoldReasonSubCode: 3,
    },
    { host: 's', text: 'e' },
  ],
  ['disconnected', { DisconnectReason: 'd', StartdName: 's', StartdAddr: '<a>' }, { slot: 's', host: '<a>' }],
  ['reconnected', { StartdName: 's', StartdAddr: '<a>', StarterAddr: '<b>' }, { slot: 's', host: '<a>' }],
  ['reconnect-failed', { Reason: 'r', StartdName: 's' }, { reason: 'r' }],
  ['grid-resource-up', { GridResource: 'g' }, {}],
  ['grid-resource-down', { GridResource: 'g' }, {}],
  ['grid-submit', { GridResource: 'g', GridJobId: 'j' }, {}],
  ['job-status-unknown', {}, {}],
  ['job-status-known', {}, {}],
  ['stage-in', {}, {}],
  ['stage-out', {}, {}],
  ['attribute-update', { Attribute: 'A', Value: '5' }, { name: 'A', to: '5' }],
  ['pre-skip', { SkipEventLogNotes: 'DAG Node: N' }, {}],
  ['cluster-submit', { SubmitHost: '<a>' }, { host: '<a>', notes: [] }],
  [
    'cluster-remove',
    { NextProcId: 4, NextRow: 2, Completion: 1, Notes: 'n' },
    { jobs: 4, completion: 'complete' },
  ],
  ['cluster-remove', { Completion: -2 }, { completion: 'error' }],
  ['factory-paused', { Reason: 'r', PauseCode: 1, HoldCode: 2 }, {}],
  ['factory-resumed', { Reason: 'r' }, {}],
  ['file-transfer', { Type: 1, Host: '<a>' }, { direction: 'input', step: 'queued', host: '<a>' }],
  ['file-transfer', { Type: 5, QueueingDelay: 9 }, { direction: 'output', step: 'started' }],
  ['file-transfer', { Type: 6 }, { direction: 'output', step: 'finished' }],
  ['file-transfer', { Type: 17 }, {}],
  ['reserve-space', { ExpirationTime: 5, ReservedSpace: 6, UUID: 'u', Tag: 't' }, {}],
  ['release-space', { UUID: 'u' }, {}],
  ['file-complete', { Size: 1, Checksum: 'c', ChecksumType: 's', UUID: 'u' }, {}],
  ['file-used', { Checksum: 'c', ChecksumType: 's', Tag: 't' }, {}],
  ['file-removed', { Size: 1, Checksum: 'c', ChecksumType: 's', Tag: 't' }, {}],
  ['dataflow-job-skipped', { Reason: 'r' }, {}],
  ['common-files', { Type: 'WaitStarted' }, {}],
];

for (const [kind, ad, details] of ads) {
  test(`${kind} with ${Object.keys(ad).join(', ') || 'no attributes'} gives its details in JSON`, () => {
    const event = {
      EventTypeNumber: eventNumbers[kind],
      Cluster: 7,
      Proc: 1,
      Subproc: 0,
      EventTime: '2026-11-15T00:16:08.447',
      ...ad,
    };
    const found = only(`${JSON.stringify(event, undefined, 2)}\n`);
    assert.deepEqual(
      [found.kind, found.cluster, found.proc, found.subproc, found.time],
      [kind, 7, 1, 0, Date.UTC(2026, 10, 15, 0, 16, 8, 447)],
    );
    assert.deepEqual(found.details, details);
  });
}

test('every kind of event has a case', () => {
  const cases = new Set<string>(ads.map(([kind]) => kind)).add('job-ad-information');
  assert.deepEqual(
    Object.keys(eventNumbers).filter((kind) => !cases.has(kind)),
    [],
  );
});

test('job ad information keeps every attribute, and what is no literal as an expression', () => {
  const json = only(
    '{"EventTypeNumber": 28, "TriggerEventTypeNumber": 1, "A": "\\/Expr(time() + 1)\\/", "L": [1, null], "__proto__": 5}\n',
  );
  assert.ok(json.kind === 'job-ad-information');
  assert.deepEqual(json.details.attributes.A, new Expression('time() + 1'));
  assert.deepEqual(json.details.attributes.L, [1, undefined]);
  assert.ok(Object.hasOwn(json.details.attributes, '__proto__'));
});

test('an event of an unknown number is kept as it is written', () => {
  const log = '{"EventTypeNumber": 301, "New": true}';
  assert.deepEqual(only(`${log}\n`).details, { text: log });
});
