import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makePlanFrom, someFacts } from '../../../test/check/facts.ts';
import { applyRules } from '@updraft/base';
import { checkSpec } from '../../job/read-spec.ts';
import { isSecretName } from '@updraft/base/secrets';
import { findSecrets } from '../../job/secrets.ts';
import { secretRules } from './limits.ts';

const secrets =
  '[train.secrets]\nA_KEY = { from = "env", name = "MINE" }\nB = { from = "file", path = "no/such" }\n';

test('a missing secret is an error with its name and where it should be', async () => {
  const found = await findSecrets(makePlanFrom(secrets), { MINE: 'value' });
  assert.deepEqual(
    found.map(({ name, from, value }) => [name, from, value]),
    [
      ['A_KEY', 'the environment variable MINE', 'value'],
      ['B', '/project/no/such', undefined],
    ],
  );
  const [only, ...more] = applyRules(secretRules, { ...someFacts(secrets), secrets: found });
  assert.deepEqual([only?.rule, only?.line, more], ['secret-missing', 7, []]);
  assert.match(only?.message ?? '', /the secret B is not in \/project\/no\/such/);
});

test('a variable of [train.env] that looks like a secret is a warning that names [train.secrets]', () => {
  const text =
    '[train.env]\nWANDB_API_KEY = "x"\nHF_TOKEN = "x"\nDB_PASSWORD = "x"\nKEYS = "x"\nTOKENIZERS_PARALLELISM = "false"\n';
  const found = applyRules(secretRules, someFacts(text));
  assert.deepEqual(
    found.map(({ rule, line }) => [rule, line]),
    [6, 7, 8].map((line) => ['secret-in-env', line]),
  );
  assert.match(found[0]?.fix ?? '', /WANDB_API_KEY = \{ from = "env" \} in \[train\.secrets\]/);
  assert.deepEqual(['MONKEY', 'SORT_KEY_ORDER', 'token', 'SECRET'].map(isSecretName), [
    false,
    false,
    true,
    true,
  ]);
});

test('a secret with missing, conflicting or duplicate keys is refused at its key', () => {
  const head = 'name = "x"\n[train]\ncommand = "t"\noutputs = ["o"]\n';
  for (const [toml, problem] of [
    ['A = { from = "file" }', /train\.secrets\.A: names no file/],
    ['A = { from = "file", path = "p", name = "B" }', /only applies to from = "env"/],
    ['A = { from = "env", path = "p" }', /only applies to from = "file"/],
    ['A = "the value itself"', /expected a table like/],
    ['A = { from = "env" }\n[train.env]\nA = "1"', /A is in \[train\.env\] too/],
    ['UPDRAFT_A = { from = "env" }', /cannot be used/],
  ] as const) {
    const read = checkSpec(`${head}[train.secrets]\n${toml}\n`, 'updraft.toml');
    const said = 'problems' in read ? read.problems.map(({ key, message }) => `${key}: ${message}`) : [];
    assert.match(said.join('\n'), problem);
  }
});
