import assert from 'node:assert/strict';
import { test } from 'node:test';
import { base256, tarEntry, type TarParts } from '../../test/archives/make-tar.ts';
import { parseTarHeader, type TarHeader } from './tar-header.ts';

function read(parts: TarParts): TarHeader {
  const header = parseTarHeader(tarEntry(parts), 0);
  if (typeof header === 'string') assert.fail(header);
  return header;
}

test('every field of a header is read at any offset in the buffer', () => {
  const bytes = Buffer.concat([
    Buffer.alloc(7, 9),
    tarEntry({ name: 'n', type: '2', link: 'l', mode: 0o4711, mtime: 12, size: 0o777 }),
  ]);
  assert.deepEqual(parseTarHeader(bytes, 7), {
    name: 'n',
    type: '2',
    size: 0o777,
    mode: 0o4711,
    mtime: 12,
    target: 'l',
  });
});

test('a name that fills its field needs no terminating zero byte', () => {
  assert.equal(
    read({ name: 'n'.repeat(100), prefix: 'p'.repeat(155) }).name,
    `${'p'.repeat(155)}/${'n'.repeat(100)}`,
  );
});

test('sizes are octal with any padding, or base 256 when too big for octal', () => {
  assert.equal(read({ size: Buffer.from('      17 \0\0\0') }).size, 15);
  assert.equal(read({ size: Buffer.from('77777777777\0') }).size, 2 ** 33 - 1);
  assert.equal(read({ size: base256(2n ** 40n + 5n) }).size, 2 ** 40 + 5);
  assert.equal(read({ mtime: base256(-3n) }).mtime, -3);
});

test('a block that is not a header is classified', () => {
  assert.equal(parseTarHeader(Buffer.alloc(512), 0), 'zeros');
  assert.equal(parseTarHeader(Buffer.alloc(512, 7), 0), 'not-a-header');
  assert.equal(parseTarHeader(tarEntry({ checksum: 3 }), 0), 'not-a-header');
  assert.equal(parseTarHeader(tarEntry({ size: base256(2n ** 70n) }), 0), 'bad-number');
});

test('a name that is not UTF-8 is passed on as bytes: a long name may override it', () => {
  const cut = Buffer.from([0xc3, 0x28]);
  assert.deepEqual(read({ name: cut }).name, cut);
  assert.deepEqual(read({ name: cut, prefix: 'p' }).name, Buffer.concat([Buffer.from('p/'), cut]));
});
