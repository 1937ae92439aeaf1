import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accessPointReason } from './host.ts';

const laptop = { hostname: 'laptop', hasCondor: false, hasSchedd: false };

test('an access point is recognized by its name, by its schedd, or by name and configuration', () => {
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

test("the user's own machine is not an access point, with or without HTCondor's tools", () => {
  assert.equal(accessPointReason(laptop), undefined);
  assert.equal(accessPointReason({ ...laptop, hasCondor: true }), undefined);
  assert.equal(accessPointReason({ ...laptop, hostname: 'apple.local' }), undefined);
  assert.equal(accessPointReason({ ...laptop, hostname: 'chtc.wisc.edu.evil.example' }), undefined);
});
