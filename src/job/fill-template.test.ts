import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import fc from 'fast-check';
import { fillShell, fillText, parseTemplate, shellContexts } from './expand.ts';

const value = fc.oneof(
  fc.string({ unit: 'grapheme' }).map((text) => text.replaceAll('\0', '')),
  fc.constantFrom(
    '$(id)',
    '`id`',
    "'; id; '",
    '"; id; "',
    '\\',
    '\\"',
    '$HOME',
    '\n',
    '',
    '{x}',
    '#',
    "'\\''",
  ),
);

test('a value stays one word unquoted, in double quotes and in single quotes', () => {
  const template = `printf '%s\\0' {x} "{x}" '{x}' a{x}b "a {x}"' {x}' "it's {x}" \${HOME:+}{x} # it's over`;
  fc.assert(
    fc.property(value, (x) => {
      const printed = execFileSync('/bin/sh', ['-c', fillShell(template, { x })], { encoding: 'utf8' });
      assert.deepEqual(printed.split('\0').slice(0, -1), [x, x, x, `a${x}b`, `a ${x} ${x}`, `it's ${x}`, x]);
    }),
    { numRuns: 60 },
  );
});

test('doubled braces become single ones, and shell variables are kept', () => {
  assert.equal(fillText('{{"a": {x}}}', { x: 1 }), '{"a": 1}');
  assert.equal(fillShell('echo ${HOME} {x}', { x: 'a b' }), "echo ${HOME} 'a b'");
});

test('placeholders in a value are not filled', () => {
  assert.equal(fillText('{a}{b}', { a: '{b}', b: '{a}' }), '{b}{a}');
});

test('a brace that is neither a parameter nor doubled is a problem, not a guess', () => {
  for (const text of ["awk '{print $1}'", 'a } b', '{', '{a b}', '{1}'])
    assert.match(parseTemplate(text).problem ?? '', /a lone "[{}]"; write/, text);
});

test('a place where no quoting is known to be safe is unclear', () => {
  const unclear = [
    'echo `echo {x}`',
    'echo "$(echo "{x}")"',
    'cat <<END\n{x}\nEND',
    'echo $(( {x} + 1 ))',
    "echo $'a{x}'",
    'echo \\{x}',
    'true # {x}',
    'echo "${A:-"b}"{x}',
  ];
  for (const text of unclear) {
    const { parts } = parseTemplate(text);
    const at = parts.findIndex((part) => 'name' in part);
    assert.equal(shellContexts(parts)[at], 'unclear', text);
  }
});
