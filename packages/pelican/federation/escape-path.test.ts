import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { linkTargets } from './director.ts';
import { escapePath, unescapePath } from './escape-path.ts';

const name = fc.string({ unit: 'grapheme' });

test('every name has one escaped form, and is restored from it', () => {
  fc.assert(
    fc.property(name, (text) => {
      const literal = text.replaceAll('%', '%25');
      assert.equal(unescapePath(escapePath(literal)), text);
      assert.equal(escapePath(escapePath(text)), escapePath(text));
    }),
  );
});

test('an escaped path passes through a URL and a Link header unchanged', () => {
  fc.assert(
    fc.property(name, (text) => {
      const segment = escapePath(`x${text}`);
      // A URL drops these; object-url.ts and list-collection.ts refuse them.
      fc.pre(!segment.split('/').some((part) => part === '.' || part === '..'));
      const url = `https://host/${segment}`;
      assert.equal(new URL(url).href, url);
      assert.equal(linkTargets(`<${url}>; pri=1, <https://b/>; pri=2`)[0], url);
    }),
  );
});
