import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../../test/agent/manual-clock.ts';
import { BuildProgress } from './root-folder.ts';

test('what mmdebstrap prints becomes steps, their progress and the time left', async () => {
  const clock = new ManualClock();
  const said: string[] = [];
  const progress = new BuildProgress(clock, (line, transient = false) =>
    said.push(transient ? `  ${line}` : line),
  );
  progress.line('I: running apt-get update...');
  progress.line('Unpacking libc6:amd64 (2.43-7) ...');
  await clock.pass(20_000);
  for (const line of [
    'I: installing remaining packages inside the chroot...',
    '0 upgraded, 2 newly installed, 0 to remove and 0 not upgraded.',
    'Need to get 320 MB of archives.',
    'Get:1 http://deb.debian.org/debian sid/main amd64 condor amd64 25.14.1 [160 MB]',
    'Get:2 http://deb.debian.org/debian sid/main amd64 libtorch2.14 amd64 2.14.1+dfsg-1 [160,000 kB]',
    'Unpacking condor (25.14.1) ...',
    'Unpacking libtorch2.14:amd64 (2.14.1) ...',
    'Setting up libtorch2.14:amd64 (2.14.1) ...',
    'Setting up condor (25.14.1) ...',
    'I: creating tarball...',
  ])
    progress.line(line);
  assert.deepEqual(said, [
    '  base system: running apt-get update',
    'fetching 320 MB in 2 packages',
    '  fetching condor: 0 of 320 MB, about 80 s left',
    '  fetching libtorch2.14: 160 of 320 MB, about 60 s left',
    'unpacking 2 packages',
    '  unpacking condor: 0 of 2 packages, about 47 s left',
    '  unpacking libtorch2.14: 1 of 2 packages, about 25 s left',
    'setting up 2 packages',
    '  setting up libtorch2.14: 0 of 2 packages, about 14 s left',
    '  setting up condor: 1 of 2 packages, about 8 s left',
    'copying the files',
  ]);
});
