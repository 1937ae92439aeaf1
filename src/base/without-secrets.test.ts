import assert from 'node:assert/strict';
import { test } from 'node:test';
import { textWithoutSecrets } from './file-without-secrets.ts';
import { withoutSecrets } from './printable.ts';

test('passwords, signatures and tokens are removed', () => {
  const shown: [url: string, shown: string][] = [
    ['https://me:secret@host:8443/a?x=1', 'https://host:8443/a?x=1'],
    ['https://host/a?authz=Bearer%20abc&x=1#f', 'https://host/a?authz=…&x=1#f'],
    ['https://host/a?x=1&access_token=abc', 'https://host/a?x=1&access_token=…'],
    ['https://host/a?sv=2&sig=abc%2B&se=3', 'https://host/a?sv=2&sig=…&se=3'],
    ['https://host/a?X-Amz-Credential=abc&X-Amz-Date=1', 'https://host/a?X-Amz-Credential=…&X-Amz-Date=…'],
    ['https://host/a?X-Goog-Signature=abc', 'https://host/a?X-Goog-Signature=…'],
  ];
  for (const [url, expected] of shown) assert.equal(withoutSecrets(url), expected);
});

test('the words around them stay', () => {
  const token = 'eyJhbGciOiJFUzI1NiJ9.e30.abc-_123';
  assert.equal(
    withoutSecrets(`GET "https://h/a?authz=${token}" (Authorization: Bearer ${token}) failed|again`),
    'GET "https://h/a?authz=…" (Authorization: Bearer …) failed|again',
  );
  assert.equal(withoutSecrets('404 for Bearer abc.def (x)'), '404 for Bearer … (x)');
  assert.equal(
    withoutSecrets('from https://a:b@h/x, https://h/y?sig=1, and z'),
    'from https://h/x, https://h/y?sig=…, and z',
  );
});

test('harmless text is unchanged', () => {
  const harmless = [
    'osdf:///ns/a@b.tar',
    'pelican://host/ns/x',
    'file:///data/a b',
    'osdf:///ns/key=1/token=2.parquet',
    'namespace=/ns, require-token=true',
    'no bearer token.',
    'https://h/a?monkey=1',
  ];
  for (const text of harmless) assert.equal(withoutSecrets(text), text);
});

test('the values of secret options go, in a command and in a list of its words', () => {
  assert.equal(
    withoutSecrets(`Command '['curl', '--token', 'abc1', '--epochs', '3']' failed: curl --password "a b" x`),
    `Command '['curl', '--token', '…', '--epochs', '3']' failed: curl --password "…" x`,
  );
  for (const text of ['--tokenizer bert', 'see --max-tokens 5', 'a --password'])
    assert.equal(withoutSecrets(text), text);
});

test('plain words and counts after an option stay, and so do the tokens of language models', () => {
  const harmless = [
    'the option --token is required; `--token` is missing',
    'TARGET.HasToken =?= true',
    'either --token or --password must be given',
    '--api-key was not found: --password required.',
    '--max-token 512 --num_token=100000 --pad-token <pad-it> --eos_token=endoftext',
    '--tokenizer=bert-base-cased TOKENIZERS_PARALLELISM=disabled1',
    '--sort-key 3 --pass 2, --key=1',
  ];
  for (const text of harmless) {
    assert.equal(withoutSecrets(text), text);
    assert.equal(textWithoutSecrets(text), text);
  }
  for (const secret of [
    '--token isabel',
    '--token 1234',
    '--password=is',
    '--hf-token was1',
    'MYMAX_TOKEN=abcd1234',
  ])
    assert.match(withoutSecrets(secret), /…$/);
});

test('a token or password in a sentence goes, and so does what has the form of one', () => {
  const [key, jwt] = [
    ['ghp', 'planted0123456789planted'].join('_'),
    ['eyJhbGciOiJFUzI1', 'e30', 'abc-_123'].join('.'),
  ];
  const shown: [text: string, shown: string][] = [
    ['failed (token: PLANTEDreason)', 'failed (token: …)'],
    ['the password is planted12, they say', 'the password is …, they say'],
    ['Password "Planted1x" refused for bob', 'Password "…" refused for bob'],
    [`data_${key}.tar is missing`, 'data_….tar is missing'],
    [`X=${jwt};Y=1`, 'X=…;Y=1'],
  ];
  for (const [text, expected] of shown) {
    assert.equal(withoutSecrets(text), expected);
    assert.doesNotMatch(textWithoutSecrets(text), /planted|hbGci/i);
  }
  const harmless = [
    'invalid token: expired; password authentication failed for user bob',
    'token: TokenExpiredError, secret /etc/pass1, password: Unauthorized',
    'hf_transformers_checkpoint_of_the_large_model.tar, sk-learn-pipelines-and-models, sk-en-corpus-of-2024',
    'token = self.embed1(x); def f(token: torch.LongTensor, token: List[Int64]): token: failed, see x2',
  ];
  for (const text of harmless) assert.equal(withoutSecrets(text), text);
});

test('a password of letters goes, and what messages say of passwords stays', () => {
  const shown: [text: string, shown: string][] = [
    ['password: hunter', 'password: …'],
    ['mount failed (user: bob, password: hunter)', 'mount failed (user: bob, password: …)'],
    ['Password: Hunter. Then it failed', 'Password: …. Then it failed'],
    [`{'password': 'hunter', 'host': 'db'}`, `{'password': '…', 'host': 'db'}`],
    ['db password: hunter for user bob', 'db password: … for user bob'],
    ['passphrase: correcthorse', 'passphrase: …'],
    ['db_password: hunter', 'db_password: …'],
    ['> Authorization: Basic aHVudGVyOng=', '> Authorization: Basic …'],
  ];
  for (const [text, expected] of shown) assert.equal(withoutSecrets(text), expected);
  const harmless = [
    'password: required; token: expired; Authorization: denied',
    'Authorization: Basic Authentication required',
    'Password: Permission denied, please try again.',
    "bob@host's password: Login incorrect",
    'Password:\nconnection closed',
    'Access denied for user (using password: YES)',
    'passwd: files systemd; passwd: user bob does not exist',
    'def connect(user: str, password: str, host: Host, password: SecretStr, password: bool = False): ...',
    'password: Kerberos realm unknown; password: contains no digit; password: looked up',
    'secret: my-credentials; token: abcdef; password: see docs/login.md',
  ];
  for (const text of harmless) assert.equal(withoutSecrets(text), text);
});
