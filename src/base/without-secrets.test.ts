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
    ['Authorization: Bearer hunterhunterred', 'Authorization: Bearer …'],
    ['X-API-Key: hunterhunterred', 'X-API-Key: …'],
    ['password = hunted', 'password = …'],
    ['password:\thunted', 'password:\t…'],
    ['password: hunted!', 'password: …'],
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
    'password: optional; password: mismatch; Password: prompt; password = None',
    'Authorization: Bearer authentication failed; X-API-Key: unauthenticated; Authorization: HTTP/1.1',
    'secret: my-credentials; token: abcdef; password: see docs/login.md',
  ];
  for (const text of harmless) assert.equal(withoutSecrets(text), text);
});

test('headers, cookies, logins and the values of JSON, XML and encoded URLs go, whatever is around them', () => {
  const shown: [text: string, shown: string][] = [
    ['x {"access_token":"planted-5522aa"}', 'x {"access_token":"…"}'],
    [
      String.raw`{"body": "{\"client_secret\": \"planted1\", \"a\": 1}"}`,
      String.raw`{"body": "{\"client_secret\": \"${'…'}\", \"a\": 1}"}`,
    ],
    [
      'Authorization: Basic UGxhbnRlZDpwdw== refused, basic: Basic Y2FyOnBsYW50ZWQ5',
      'Authorization: Basic … refused, basic: Basic …',
    ],
    ['"authorization": "Token planted12"', '"authorization": "Token …"'],
    [
      "curl -H 'X-Auth-Token: planted-77aa' -u bob:planted1 failed",
      "curl -H 'X-Auth-Token: …' -u bob:… failed",
    ],
    ['PRIVATE-TOKEN: planted12, aws_secret_key: planted12', 'PRIVATE-TOKEN: …, aws_secret_key: …'],
    ['Authorization: planted12345, Cookie: planted12', 'Authorization: …, Cookie: …'],
    ['curl -u bob:88442211 h', 'curl -u bob:… h'],
    [`x {"password": "ab'Planted77x"}`, 'x {"password": "…"}'],
    [String.raw`x {"password": "ab\"Planted77x", "a": 1}`, 'x {"password": "…", "a": 1}'],
    [
      String.raw`"{\"token\": \"ab\\\"Planted77x\", \"a\": 1}"`,
      String.raw`"{\"token\": \"${'…'}\", \"a\": 1}"`,
    ],
    [`x {"password": "$Planted77x"}`, 'x {"password": "…"}'],
    [`x {"passphrase": "correct horse battery staple planted"}`, 'x {"passphrase": "…"}'],
    ['<password>ab"Planted<77x</password>', '<password>…</password>'],
    ['Cookie: sid=planted1; csrf=planted1 rejected', 'Cookie: … rejected'],
    ['got Set-Cookie:sid=planted1', 'got Set-Cookie:…'],
    ['<password>planted1</password> in x', '<password>…</password> in x'],
    ['<a n="My_Password"><s>planted1</s></a>', '<a n="My_Password"><s>…</s></a>'],
    [
      'cb?to=https%3A%2F%2Fx%2F%3Faccess_token%3Dplanted1%26b%3D1&a=1',
      'cb?to=https%3A%2F%2Fx%2F%3Faccess_token%3D…%26b%3D1&a=1',
    ],
    ['mysql -pplanted1 db', 'mysql -p… db'],
    ['the PIN: 884422', 'the PIN: …'],
  ];
  for (const [text, expected] of shown) {
    assert.equal(withoutSecrets(text), expected);
    assert.doesNotMatch(textWithoutSecrets(text), /planted|UGxhbn|Y2Fy|884422/i);
  }
});

test('what is said of headers, fields and users stays', () => {
  const harmless = [
    'Authorization: denied for host12.example.org; Authorization: Basic Authentication required',
    'Cookie: expired; X-Auth-Token: missing; access_token: expired; sort-key: name',
    `{"token": "expired", "token_type": "bearer", "error": "invalid_token", "password": "required"}`,
    `x === 401 ? 'it needs a token' : 'it refuses access', 'url-secret': 'a URL has a secret in it'`,
    `{"token": "$TOKEN", "password": "\${PW}", "secret": "<your secret>", "token": "%s"}`,
    'date -u +%H:%M:%S, rsync -u host:data, docker run -u root:root, srun -p GpuA100x',
    'mkdir -p Results2024: permission denied',
    'unexpected_key: layer4.0.conv1.weight, sort_key: resnet50_v2, host-key: SHA256:abc123DEF',
    'docker run -u 1000:1000 --userspec=a:b, git -p log, java -parallelMode3x, mkdir -p Results2024/A',
    'Map<Token>(x), Basic Python3 course, PIN: 4, <token>',
  ];
  for (const text of harmless) assert.equal(withoutSecrets(text), text);
});

test('a huge word takes no longer than many short ones', () => {
  // Were one quadratic, it would take most of a minute.
  const started = process.cpuUsage();
  for (const part of ['\\', 'a_token:', 'token:', 'password:', ':-p', '"token":"', '<password>', 'Basic '])
    withoutSecrets(part.repeat(400_000 / part.length));
  assert.ok(process.cpuUsage(started).user < 10e6);
});
