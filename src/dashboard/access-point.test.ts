import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accessPointReason } from './host.ts';

const laptop = { hostname: 'laptop', hasCondor: false, hasSchedd: false };

test('a machine is taken for an access point by its name, by its schedd, or by both name and set-up', () => {
  for (const hostname of [
    'ap40.uw.osg-htc.org',
    'ap1.facility.osg-htc.org',
    'ap2001.chtc.wisc.edu',
    'login05.osgconnect.net',
  ])
    assert.match(accessPointReason({ ...laptop, hostname }) ?? '', new RegExp(hostname), hostname);
  assert.match(accessPointReason({ ...laptop, hasSchedd: true }) ?? '', /condor_schedd/);
  assert.match(
    accessPointReason({ ...laptop, hostname: 'submit2.campus.edu', hasCondor: true }) ?? '',
    /submit2/,
  );
});

test("the researcher's own machine is none, with HTCondor's tools on it or not", () => {
  assert.equal(accessPointReason(laptop), undefined);
  assert.equal(accessPointReason({ ...laptop, hasCondor: true }), undefined);
  assert.equal(accessPointReason({ ...laptop, hostname: 'apple.local' }), undefined);
  assert.equal(accessPointReason({ ...laptop, hostname: 'chtc.wisc.edu.evil.example' }), undefined);
});
