import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { getStaticTOMLValue, parseTOML } from 'toml-eslint-parser';
import { stringify } from 'yaml';
import { checkSpec } from './read-spec.ts';

const templates = path.join(import.meta.dirname, '..', '..', 'templates');
const scraps = [
  '"',
  "'",
  '[',
  ']',
  '{',
  '}',
  '=',
  ':',
  '\n',
  '\t',
  '#',
  '\\',
  '- ',
  '&a',
  '*a',
  '2026-02-31',
  '0x',
  '\u0000',
  '{x}',
  '1e999',
  '__proto__',
];

const toml = readFileSync(path.join(templates, 'cifar10/updraft.toml'), 'utf8');
const yaml = stringify(getStaticTOMLValue(parseTOML(toml)));
for (const [file, good] of [
  ['updraft.toml', toml],
  ['updraft.yaml', yaml],
] as const)
  test(`a damaged ${file} is read, or its problems have places inside it`, () => {
    const damage = fc.record({
      at: fc.nat(good.length),
      cut: fc.nat(12),
      put: fc.oneof(fc.constantFrom(...scraps), fc.string({ maxLength: 6 })),
    });
    fc.assert(
      fc.property(fc.array(damage, { minLength: 1, maxLength: 3 }), (damages) => {
        let text = good;
        for (const { at, cut, put } of damages) text = text.slice(0, at) + put + text.slice(at + cut);
        const reading = checkSpec(text, file);
        if ('spec' in reading) return;
        const lines = text.split('\n');
        for (const { line, column, message } of reading.problems) {
          assert.ok(line >= 1 && line <= lines.length, `line ${line} of ${lines.length}: ${message}`);
          assert.ok(
            column >= 1 && column <= (lines[line - 1] ?? '').length + 1,
            `${line}:${column} ${message}`,
          );
          assert.notEqual(message, '');
        }
      }),
      { numRuns: 200 },
    );
  });
