import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileWithoutSecrets } from './file-without-secrets.ts';

/** Parts are joined, so that no scanner takes this file for a leak. */
const key = (start: string, rest = 'planted0123456789planted0123456789'): string => start + rest;

const planted: [what: string, text: string][] = [
  ['a header of any scheme', 'Authorization: ApiKey planted1234='],
  ['a header in quotes', "curl -H 'authorization: Token planted1234' https://h/x"],
  ['every cookie', 'Cookie: a=planted1; theme=planted2'],
  ['the login of curl', 'curl -u bob:planted9 https://h/x'],
  ['the login of mysql', 'mysql -u root -pplanted9 db'],
  ['the key of wandb', `wandb login ${key('0123456789')}`],
  ['the key of a kubeconfig', '    client-key-data: planted+/0=='],
  ['a variable that ends in PASS', "export MY_PASS='two words planted'"],
  ['an entry called pass', '[default]\npass = planted one'],
  ['a block of YAML', 'a: 1\nsecret: |\n  planted\n  planted\nb: 2'],
  ['the key of a storage account', 'AccountName=a;AccountKey=planted/+==;EndpointSuffix=core'],
  ['a spoken password', 'your password is planted12'],
  ['an option called key', 'arguments = --key planted'],
  ['the key of PuTTY', 'Private-Lines: 2\nplanted\nplanted\nPrivate-MAC: 0'],
  ['a webhook', key('https://hooks.slack.com/services/', 'T0/B0/planted')],
  ...['dop_v1_', 'pypi-', 'sk_live_', 'glpat-', 'sk-proj-'].map((start): [string, string] => [
    `a key ${start}`,
    key(start),
  ]),
];

for (const [what, text] of planted)
  test(`removed: ${what}`, () => {
    const counts = new Map<string, number>();
    const kept = fileWithoutSecrets(text, counts);
    assert.doesNotMatch(kept, /planted/);
    assert.match(kept, /\[removed\]/);
    assert.ok(counts.size > 0);
  });

test('what follows a secret stays', () => {
  const kept = fileWithoutSecrets('a: 1\nsecret: |\n  x\nb: 2\nPASS: all 3 tests', new Map());
  assert.match(kept, /^a: 1\nsecret: \[removed\]\nb: 2\nPASS: all 3 tests$/);
});

test('a huge word takes no longer than many short ones', () => {
  const huge = 'a'.repeat(300_000);
  const started = process.cpuUsage();
  assert.equal(fileWithoutSecrets(huge, new Map()), huge);
  assert.ok(process.cpuUsage(started).user < 5e6);
});
