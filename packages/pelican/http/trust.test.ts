import assert from 'node:assert/strict';
import { copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { readFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { testAuthority, webServer } from '../../../test/federation/web-server.ts';
import { systemClock } from '@updraft/base';
import { Fault } from '../fault.ts';
import { NoAnswer } from './no-answer.ts';
import { ConnectionPool } from './connections.ts';
import { createRequest } from './exchange.ts';
import { makeCertificateAuthority } from '@updraft/mini/testing';
import { missingTrust, readTrust, sentAuthorities } from './trust.ts';

async function folder(t: TestContext): Promise<string> {
  const made = await mkdtemp(path.join(os.tmpdir(), 'updraft-trust-'));
  t.after(() => rm(made, { recursive: true }));
  return made;
}

function refusal(env: Record<string, string>): Fault {
  try {
    readTrust(env);
  } catch (error) {
    assert.ok(error instanceof Fault);
    return error;
  }
  assert.fail('was accepted');
}

const authority = readFileSync(testAuthority, 'utf8').trim();

test('without any of the variables the runtime keeps its own authorities', () => {
  assert.equal(readTrust({}), undefined);
  assert.equal(readTrust({ SSL_CERT_FILE: '' }), undefined);
});

test('an authority that appears twice, with different line breaks, is read once', async (t) => {
  const file = path.join(await folder(t), 'twice.pem');
  await writeFile(file, `${authority}\n${authority.replaceAll('\n', '\r\n')}\n`);
  const once = readTrust({ SSL_CERT_FILE: testAuthority });
  assert.equal(readTrust({ SSL_CERT_FILE: file })?.length, once?.length);
});

test('each variable adds its authorities to the built-in ones', async (t) => {
  const dir = await folder(t);
  await copyFile(testAuthority, path.join(dir, '1a2b3c4d.0'));
  await writeFile(path.join(dir, '1a2b3c4d.r0'), 'a revocation list');
  await symlink('nowhere', path.join(dir, 'dangling.0'));
  await mkdir(path.join(dir, 'folder'));
  for (const env of [
    { SSL_CERT_FILE: testAuthority },
    { NODE_EXTRA_CA_CERTS: testAuthority },
    { X509_CERT_DIR: dir },
  ]) {
    const trusted = readTrust(env) ?? [];
    assert.ok(trusted.includes(authority));
    assert.ok(trusted.length > 50, 'the built-in authorities stay');
  }
  assert.equal(
    readTrust({ SSL_CERT_FILE: testAuthority, X509_CERT_DIR: dir })?.filter((pem) => pem === authority)
      .length,
    1,
  );
});

test('a file without a certificate is refused, naming the variable and the file', async (t) => {
  const dir = await folder(t);
  const empty = path.join(dir, 'empty.pem');
  await writeFile(empty, 'not a certificate');
  for (const variable of ['SSL_CERT_FILE', 'X509_CERT_DIR', 'NODE_EXTRA_CA_CERTS']) {
    assert.match(
      refusal({ [variable]: empty }).message,
      new RegExp(`${variable}=${empty} contains no PEM certificate`),
    );
  }
});

test('a server whose certificate an added authority signed is trusted, and not otherwise', async (t) => {
  const server = await webServer(t, (_, response) => response.end('hello'));
  const get = (ca: string[] | undefined) =>
    createRequest(new ConnectionPool({ clock: systemClock, ca }))({ method: 'GET', url: server.url });
  assert.equal((await get(readTrust({ SSL_CERT_FILE: testAuthority }))).body, 'hello');
  await assert.rejects(
    get(undefined),
    (error) => error instanceof NoAnswer && error.reason === 'certificate' && !error.mayPass,
  );
});

test('a file that is gone is ignored, with what to do about it; the site sets X509_CERT_DIR, not the user', () => {
  const gone = '/no/such/ca.pem';
  for (const variable of ['SSL_CERT_FILE', 'X509_CERT_DIR', 'NODE_EXTRA_CA_CERTS'])
    assert.equal(readTrust({ [variable]: gone }), undefined);
  assert.deepEqual(missingTrust({ SSL_CERT_FILE: gone, X509_CERT_DIR: gone, NODE_EXTRA_CA_CERTS: '' }), [
    `SSL_CERT_FILE=${gone} does not exist and is ignored: unset SSL_CERT_FILE`,
  ]);
  assert.deepEqual(missingTrust({ SSL_CERT_FILE: testAuthority }), []);
});

test('what travels with jobs is the certificates of SSL_CERT_FILE, never a key beside them', async (t) => {
  const file = path.join(await folder(t), 'both.pem');
  const key = makeCertificateAuthority('test', Date.now()).issue(['localhost']).key;
  await writeFile(file, `${key}\n${authority}\n${key}\n`);
  assert.match(key, /PRIVATE KEY/);
  assert.deepEqual(sentAuthorities({ SSL_CERT_FILE: file }), [authority]);
  assert.deepEqual(sentAuthorities({ SSL_CERT_FILE: '/no/such/ca.pem' }), []);
  assert.deepEqual(sentAuthorities({ SSL_CERT_FILE: '' }), []);
});
