import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import tls from 'node:tls';
import { promisify } from 'node:util';
import { makeCertificateAuthority } from './x509.ts';

const hosts = ['localhost', '127.0.0.1'];

test('a certificate names its hosts, its issuer and its dates', () => {
  const now = Date.UTC(2049, 11, 30);
  const authority = makeCertificateAuthority('Test CA', now, 30);
  const own = new X509Certificate(authority.certificate);
  const server = new X509Certificate(authority.issue(hosts).certificate);
  assert.equal(own.ca, true);
  assert.equal(server.ca, false);
  assert.ok(server.checkIssued(own));
  assert.ok(server.verify(own.publicKey));
  for (const name of ['localhost']) assert.equal(server.checkHost(name), name);
  assert.equal(server.checkIP('127.0.0.1'), '127.0.0.1');
  assert.equal(server.checkHost('example.org'), undefined);
  assert.equal(server.checkIP('127.0.0.2'), undefined);
  assert.equal(server.validFromDate.getTime(), now - 24 * 3600 * 1000);
  assert.equal(server.validToDate.getTime(), now + 30 * 24 * 3600 * 1000);
});

test('a TLS handshake succeeds only for a client that trusts the CA', async (t) => {
  const authority = makeCertificateAuthority('Test CA', Date.now());
  const { certificate, key } = authority.issue(hosts);
  const server = tls.createServer({ cert: certificate, key }, (socket) => socket.end('hello'));
  server.on('tlsClientError', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const trusting = tls.connect({ port, host: '127.0.0.1', ca: authority.certificate });
  await once(trusting, 'secureConnect');
  assert.equal(trusting.authorized, true);
  trusting.destroy();
  const stranger = tls.connect({
    port,
    host: '127.0.0.1',
    ca: makeCertificateAuthority('Test CA', Date.now()).certificate,
  });
  const [error] = (await once(stranger, 'error')) as [NodeJS.ErrnoException];
  assert.match(error.message, /signature|verify|self.signed/i);
});

test('openssl verifies the chain strictly', async (t) => {
  try {
    execFileSync('openssl', ['version']);
  } catch {
    t.skip('openssl is not installed');
    return;
  }
  const folder = await mkdtemp(path.join(os.tmpdir(), 'x509-'));
  t.after(() => rm(folder, { recursive: true }));
  const authority = makeCertificateAuthority('Test CA', Date.now());
  const [ca, leaf] = [path.join(folder, 'ca.pem'), path.join(folder, 'leaf.pem')];
  await writeFile(ca, authority.certificate);
  await writeFile(leaf, authority.issue(hosts).certificate);
  const checks = ['-x509_strict', '-purpose', 'sslserver', '-verify_ip', '127.0.0.1', '-CAfile', ca, leaf];
  const { stdout } = await promisify(execFile)('openssl', ['verify', ...checks]);
  assert.match(stdout, /leaf\.pem: OK/);
});
