import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BuildProgress } from './root-folder.ts';

test('what mmdebstrap prints becomes its steps, and how many of the packages are set up', () => {
  const said: string[] = [];
  const progress = new BuildProgress((line) => said.push(line));
  for (const line of [
    'I: running apt-get update...',
    '0 upgraded, 1 newly installed, 0 to remove and 0 not upgraded.',
    'Unpacking libc6:amd64 (2.43-7) ...',
    'Setting up libc6:amd64 (2.43-7) ...',
    'I: installing remaining packages inside the chroot...',
    '0 upgraded, 2 newly installed, 0 to remove and 0 not upgraded.',
    'Get:1 http://deb.debian.org/debian sid/main amd64 condor amd64 25.14.1 [160 MB]',
    'Unpacking condor (25.14.1) ...',
    'Setting up libtorch2.14:amd64 (2.14.1) ...',
    'Setting up condor (25.14.1) ...',
    'I: creating tarball...',
  ])
    progress.line(line);
  assert.deepEqual(said, [
    'running apt-get update',
    'libc6: 1 of 1 packages',
    'installing remaining packages inside the chroot',
    'libtorch2.14: 1 of 2 packages',
    'condor: 2 of 2 packages',
    'creating tarball',
  ]);
});
