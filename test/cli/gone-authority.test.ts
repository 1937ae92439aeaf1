import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configureOf } from '../../src/cli/command-line.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { runCommand } from './run-command.ts';

const jobFile = (pool: string): string => `
name = "plain"
[train]
command = "echo done > out.txt"
outputs = ["out.txt"]
[run]
pool = "${pool}"
`;

test('check warns of an SSL_CERT_FILE that is gone, and refuses nothing for that', async (t) => {
  const cwd = await temporaryFolder(t, { 'updraft.toml': jobFile('local') });
  const gone = `${cwd}/mini-federation/ca.pem`;
  let err = '';
  await runCommand({ configure: await configureOf('check') }, ['--quick'], {
    cwd,
    env: { SSL_CERT_FILE: gone, PATH: process.env['PATH'] ?? '', HOME: cwd },
    err: (text) => void (err += text),
  });
  assert.match(
    err,
    /^warning: SSL_CERT_FILE=\S+ca\.pem does not exist and is ignored: unset SSL_CERT_FILE$/m,
  );
});

test('submit --no-check warns of an SSL_CERT_FILE that is gone, too', async (t) => {
  const cwd = await temporaryFolder(t, { 'updraft.toml': jobFile('local') });
  let err = '';
  await runCommand({ configure: await configureOf('submit') }, ['--no-check'], {
    cwd,
    env: { SSL_CERT_FILE: `${cwd}/ca.pem`, PATH: '', HOME: cwd },
    err: (text) => void (err += text),
  }).catch(() => undefined);
  assert.equal(
    err.match(/^warning: SSL_CERT_FILE=\S+ca\.pem does not exist and is ignored/gm)?.length,
    1,
    err,
  );
});
