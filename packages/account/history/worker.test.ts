import assert from 'node:assert/strict';
import { test } from 'node:test';
import { machineInReason, machineOf, siteOrMachine, siteOf } from './worker.ts';

test('the resource is the site, then what calls itself the site; what the pool left open is none', () => {
  const names = {
    GLIDEIN_Site: 'B',
    MachineAttrGLIDEIN_ResourceName0: 'C',
    JOBGLIDEIN_ResourceName: 'A',
    GLIDEIN_ResourceName: 'R',
  };
  assert.equal(siteOf(names), 'R');
  assert.equal(siteOf({ ...names, GLIDEIN_ResourceName: '$$(GLIDEIN_ResourceName)' }), 'A');
  assert.equal(siteOf({ GLIDEIN_Site: 'B', JOBGLIDEIN_ResourceName: 'A' }), 'A');
  assert.equal(siteOf({ GLIDEIN_Site: 'B' }), 'B');
  assert.equal(siteOf({ JOBGLIDEIN_ResourceName: '' }), '');
});

test('a place is a site, or a machine where none is named', () => {
  assert.equal(siteOrMachine({ site: 'A', machine: 'm' }), 'A');
  assert.equal(siteOrMachine({ site: '', machine: 'm' }), 'm');
});

test('a machine is in a slot, in an address and in the words of a failure', () => {
  assert.equal(machineOf('slot1_2@node7.example', undefined), 'node7.example');
  assert.equal(machineOf(undefined, '<192.0.2.7:9618?addrs=x&alias=node7.example&noUDP>'), 'node7.example');
  assert.equal(machineInReason('Error from slot1@node7.example: it failed'), 'node7.example');
  assert.equal(machineInReason('Error from node7.example: SHADOW failed to send'), 'node7.example');
  assert.equal(machineInReason('failed at the access point while sending to the execution point.'), '');
  assert.equal(machineInReason('failure at execution point slot1@node7.example.'), 'node7.example');
  assert.equal(machineInReason('via condor_hold (by user alice@node7.example)'), '');
});
