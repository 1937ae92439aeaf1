import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Fault } from '../fault.ts';
import { isSameHome, parseObjectUrl } from './object-url.ts';

function federated(url: string, env = {}) {
  const parsed = parseObjectUrl(url, env);
  assert.equal(parsed.kind, 'federated');
  return parsed;
}

function fault(url: string, env = {}): Fault {
  try {
    parseObjectUrl(url, env);
  } catch (error) {
    assert.ok(error instanceof Fault);
    assert.equal(error.kind, 'url-invalid');
    return error;
  }
  assert.fail(`${url} was accepted`);
}

test('two and three slashes name the same OSDF object, with and without a credential', () => {
  for (const url of [
    'osdf:///ns/a/b',
    'osdf://ns/a/b',
    'osdf:/ns/a/b',
    'stash:///ns/a/b',
    'stash://ns/a/b',
    'OSDF:///ns/a/b',
  ]) {
    const { path, discoveryHost, credential } = federated(url);
    assert.deepEqual(
      { path, discoveryHost, credential },
      { path: '/ns/a/b', discoveryHost: 'osg-htc.org', credential: undefined },
    );
  }
  const prefixed = federated('igwn+osdf://ns/a/b');
  assert.deepEqual([prefixed.path, prefixed.credential], ['/ns/a/b', 'igwn']);
});

test('a credential name keeps its handle whichever way HTCondor spells the dot', () => {
  assert.equal(federated('name.handle+osdf:///x').credential, 'name.handle');
  assert.equal(federated('name_handle+osdf:///x').credential, 'name.handle');
  assert.equal(federated('a+b+pelican://host/x').credential, 'a+b');
  const plain = parseObjectUrl('box.me+https://example.org/x', {});
  assert.deepEqual(plain, {
    kind: 'plain',
    text: 'box.me+https://example.org/x',
    credential: 'box.me',
    href: 'https://example.org/x',
  });
});

test('UPDRAFT_OSDF_HOST names the discovery host of osdf URLs, with a port or as IPv6', () => {
  assert.equal(
    federated('osdf:///x', { UPDRAFT_OSDF_HOST: 'fed.example:8444' }).discoveryHost,
    'fed.example:8444',
  );
  assert.equal(federated('osdf:///x', { UPDRAFT_OSDF_HOST: '[::1]:8444' }).discoveryHost, '[::1]:8444');
  assert.match(
    fault('osdf:///x', { UPDRAFT_OSDF_HOST: 'https://fed.example/' }).message,
    /UPDRAFT_OSDF_HOST/,
  );
});

test('pelican URLs name their federation, by name, port and IPv6 address', () => {
  assert.equal(federated('pelican://fed.example/ns/x').discoveryHost, 'fed.example');
  assert.equal(federated('pelican://fed.example:8444/ns/x').discoveryHost, 'fed.example:8444');
  const ipv6 = federated('pelican://[2001:db8::1]:8444/ns/x');
  assert.deepEqual([ipv6.discoveryHost, ipv6.path], ['[2001:db8::1]:8444', '/ns/x']);
  assert.match(fault('pelican:///ns/x').fix ?? '', /pelican:\/\/HOST/);
  assert.match(fault('pelican://host:port/ns/x').message, /host and port/);
});

test('any object name gets one escaped form', () => {
  const path = (name: string): string => federated(`osdf:///ns/${name}`).path;
  assert.equal(path('a,b;c'), '/ns/a%2Cb%3Bc');
  assert.equal(path('a b'), '/ns/a%20b');
  assert.equal(path('a%20b'), '/ns/a%20b');
  assert.equal(path('100%.txt'), '/ns/100%25.txt');
  assert.equal(path('a#1'), '/ns/a%231');
  assert.equal(path('what%3F'), '/ns/what%3F');
  assert.equal(path('über/年'), '/ns/%C3%BCber/%E5%B9%B4');
  assert.equal(path('%FF'), '/ns/%FF');
  assert.equal(path('//a///b/'), '/ns/a/b');
});

test('a path can neither leave its root nor be empty', () => {
  for (const url of [
    'osdf:///ns/../x',
    'osdf:///ns/%2e%2e/x',
    'osdf:///ns/./x',
    'osdf:///',
    'osdf://',
    'pelican://host',
    'osdf:///a%00b',
  ])
    fault(url);
});

test("the query says what to do, and only the director's part of it goes to the director", () => {
  const { recursive, pack, direct, directorQuery } = federated(
    'osdf:///ns/x?recursive=false&directread&skipstat&other=1',
  );
  assert.deepEqual(
    { recursive, pack, direct, directorQuery },
    { recursive: true, pack: undefined, direct: true, directorQuery: 'directread&skipstat&other=1' },
  );
  const packed = federated('osdf:///ns/x?pack=tar.gz&prefercached');
  assert.deepEqual([packed.pack, packed.recursive, packed.directorQuery], ['tar.gz', false, 'prefercached']);
});

test('queries that contradict themselves are refused by name', () => {
  assert.match(fault('osdf:///x?pack=rar').message, /pack=rar/);
  assert.match(fault('osdf:///x?pack').fix ?? '', /tar\.gz/);
  assert.match(fault('osdf:///x?pack=tar&recursive').message, /'pack' and 'recursive'/);
  assert.match(fault('osdf:///x?directread&prefercached').message, /'directread' and 'prefercached'/);
  assert.match(fault('osdf:///x?recursive&recursive').message, /'recursive' twice/);
});

test('an unknown scheme is answered with the nearest known one', () => {
  assert.match(fault('odsf:///ns/x').fix ?? '', /did you mean osdf:\/\/\/ns\/x/);
  assert.match(fault('htps://example.org/x').fix ?? '', /did you mean https?:\/\/example\.org\/x/);
  assert.match(fault('gsiftp://example.org/x').fix ?? '', /use one of osdf:/);
  assert.match(fault('/ns/x').fix ?? '', /osdf:\/\/\/ns\/x/);
  assert.match(fault('').message, /no scheme/);
});

test('only files on this machine have file URLs', () => {
  const file = (url: string) => (parseObjectUrl(url, {}) as { file: string }).file;
  assert.equal(file('file:///data/a%20b#1?.tar'), '/data/a b#1?.tar');
  assert.equal(file('file:/data/x'), '/data/x');
  assert.equal(file('file://localhost/data/x'), '/data/x');
  fault('file://elsewhere/data/x');
  fault('file:data/x');
});

test('passwords are refused and signatures are not shown', () => {
  for (const url of ['https://me:secret@example.org/x', 'pelican://me:secret@example.org/x'])
    assert.doesNotMatch(fault(url).message + (fault(url).fix ?? ''), /secret/);
  const signed = parseObjectUrl('https://s3.example/x?X-Amz-Signature=abc123&part=2#top', {});
  assert.deepEqual(signed, {
    kind: 'plain',
    text: 'https://s3.example/x?X-Amz-Signature=…&part=2#top',
    href: 'https://s3.example/x?X-Amz-Signature=abc123&part=2',
  });
});

test('a token named for one object may be used only for its own federation or host', () => {
  const same = (one: string, other: string): boolean => isSameHome(one, other);
  assert.equal(same('osdf:///a/x.tar', 'igwn+osdf://a/x.json'), true);
  assert.equal(same('pelican://fed:8444/a', 'pelican://FED:8444/b?directread'), true);
  assert.equal(same('https://host/a', 'https://host/b'), true);
  assert.equal(same('osdf:///a', 'pelican://evil/a'), false);
  assert.equal(same('pelican://fed/a', 'pelican://fed:1/a'), false);
  assert.equal(same('pelican://fed/a', 'https://fed/a'), false);
  assert.equal(same('https://host/a', 'http://host/a'), false);
});
