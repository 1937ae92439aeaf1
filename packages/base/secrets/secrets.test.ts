/**
 * The one table of what is hidden: a line, what is shown of it where a log is quoted (`withoutSecrets`), and, where
 * it differs, of a line of a submit file (`textWithoutSecrets`, which hides more).
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isSecretName, textWithoutSecrets } from './in-files.ts';
import { withoutSecrets } from './in-text.ts';
import { createRedact } from './redact.ts';

/** Parts are joined, so that no scanner takes this file for a leak. */
const key = (start: string, rest = 'planted0123456789planted0123456789'): string => start + rest;
const jwt = ['eyJhbGciOiJFUzI1', 'e30', 'abc-_123'].join('.');
const longJwt = ['eyJhbGciOiJFUzI1NiJ9', 'e30', 'abc-_123'].join('.');

/** What is left of a secret in a submit file. */
const leak = /planted|hunt|hbGci|UGxhbn|Y2Fy|884422|two words|correcthorse/i;

/** Hidden in both. */
const hidden: [line: string, shown: string][] = [
  ['https://me:secret@host:8443/a?x=1', 'https://host:8443/a?x=1'],
  ['https://host/a?authz=Bearer%20abc&x=1#f', 'https://host/a?authz=…&x=1#f'],
  ['https://host/a?x=1&access_token=abc', 'https://host/a?x=1&access_token=…'],
  ['https://host/a?sv=2&sig=abc%2B&se=3', 'https://host/a?sv=2&sig=…&se=3'],
  ['https://host/a?X-Amz-Credential=abc&X-Amz-Date=1', 'https://host/a?X-Amz-Credential=…&X-Amz-Date=…'],
  ['https://host/a?X-Goog-Signature=abc', 'https://host/a?X-Goog-Signature=…'],
  ['failed (token: PLANTEDreason)', 'failed (token: …)'],
  ['the password is planted12, they say', 'the password is …, they say'],
  ['Password "Planted1x" refused for bob', 'Password "…" refused for bob'],
  [`data_${key('ghp_')}.tar is missing`, 'data_….tar is missing'],
  [`X=${jwt};Y=1`, 'X=…;Y=1'],
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
  [
    `GET "https://h/a?authz=${longJwt}" (Authorization: Bearer ${longJwt}) failed|again`,
    'GET "https://h/a?authz=…" (Authorization: Bearer …) failed|again',
  ],
  ['404 for Bearer abc.def (x)', '404 for Bearer … (x)'],
  ['from https://a:b@h/x, https://h/y?sig=1, and z', 'from https://h/x, https://h/y?sig=…, and z'],
  [
    `Command '['curl', '--token', 'abc1', '--epochs', '3']' failed: curl --password "a b" x`,
    `Command '['curl', '--token', '…', '--epochs', '3']' failed: curl --password "…" x`,
  ],
  ['--token isabel', '--token …'],
  ['--token 1234', '--token …'],
  ['--password=is', '--password=…'],
  ['--hf-token was1', '--hf-token …'],
  ['MYMAX_TOKEN=abcd1234', 'MYMAX_TOKEN=…'],
  ["curl -u 'bob:two words' https://h/x", "curl -u 'bob:…' https://h/x"],
  ['curl --user "bob:two words" https://h/x', 'curl --user "bob:…" https://h/x'],
  ['password: hunted', 'password: …'],
  ['login failed (password: hunting)', 'login failed (password: …)'],
  ["{'password': 'hunted', 'a': 1}", "{'password': '…', 'a': 1}"],
];
/** Shown as they are where a log is quoted. */
const shown = [
  'osdf:///ns/a@b.tar',
  'pelican://host/ns/x',
  'file:///data/a b',
  'osdf:///ns/key=1/token=2.parquet',
  'namespace=/ns, require-token=true',
  'no bearer token.',
  'https://h/a?monkey=1',
  'invalid token: expired; password authentication failed for user bob',
  'token: TokenExpiredError, secret /etc/pass1, password: Unauthorized',
  'hf_transformers_checkpoint_of_the_large_model.tar, sk-learn-pipelines-and-models, sk-en-corpus-of-2024',
  'token = self.embed1(x); def f(token: torch.LongTensor, token: List[Int64]): token: failed, see x2',
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
  '--tokenizer bert',
  'see --max-tokens 5',
  'a --password',
];
/** Hidden only in a submit file, or in the end of a log that leaves the machine. */
const hiddenInFiles = [
  'Authorization: ApiKey planted1234=',
  "curl -H 'authorization: Token planted1234' https://h/x",
  'Cookie: a=planted1; theme=planted2',
  'curl -u bob:planted9 https://h/x',
  'mysql -u root -pplanted9 db',
  `wandb login ${key('0123456789')}`,
  '    client-key-data: planted+/0==',
  "export MY_PASS='two words planted'",
  '[default]\npass = planted one',
  'a: 1\nsecret: |\n  planted\n  planted\nb: 2',
  'AccountName=a;AccountKey=planted/+==;EndpointSuffix=core',
  'pwd: planted',
  'DB_PWD=/planted77 x',
  'MYSQL_PWD="/planted77"',
  'tool -p Secret77.planted',
  'tool -p planted7X/',
  'tool -u bob:planted7',
  'your password is planted12',
  'API_KEY = \\\n  planted1',
  'passwd is planted12',
  '# password for the db: planted12 (ask Bob)',
  'arguments = --key planted',
  'Private-Lines: 2\nplanted\nplanted\nPrivate-MAC: 0',
  key('https://hooks.slack.com/services/', 'T0/B0/planted'),
  ...['dop_v1_', 'pypi-', 'sk_live_', 'glpat-', 'sk-proj-'].map((start) => key(start)),
];
/** Shown as they are in a submit file, too. */
const shownInFiles = [
  '--tokenizer bert --max-tokens 512 --author bob --keyboard x --passes 3',
  'arguments = "--epochs 3 --no-password"\nqueue 5',
  'apptainer exec --pwd /srv image.sif x',
  'mkdir -p results/run1 && srun -p gpu2 x',
  'password is wrong; passwd was not given: see the page',
  'docker run -u https://h/x; docker run -u 1000:1000',
  'WANDB_API_KEY =\nRUN_NAME = one',
  'PWD=/home/bob/run OLDPWD="/home/bob"',
  'the option --token is required; `--token` is missing',
  'TARGET.HasToken =?= true',
  'either --token or --password must be given',
  '--api-key was not found: --password required.',
  '--max-token 512 --num_token=100000 --pad-token <pad-it> --eos_token=endoftext',
  '--tokenizer=bert-base-cased TOKENIZERS_PARALLELISM=disabled1',
  '--sort-key 3 --pass 2, --key=1',
  'mkdir -p Results2024',
  'mkdir -p Results2024 && srun -p GpuA100x x',
];

test('a secret is hidden, and the words around it stay', () => {
  for (const [line, expected] of hidden) {
    assert.equal(withoutSecrets(line), expected);
    assert.doesNotMatch(textWithoutSecrets(line), leak, line);
  }
  for (const line of hiddenInFiles) {
    assert.doesNotMatch(textWithoutSecrets(line), leak, line);
    assert.match(textWithoutSecrets(line), /\[removed\]/, line);
  }
});

test('what is no secret is shown as it is', () => {
  for (const line of shown) assert.equal(withoutSecrets(line), line);
  for (const line of shownInFiles) {
    assert.equal(withoutSecrets(line), line);
    assert.equal(textWithoutSecrets(line), line);
  }
});

const options = [
  ...[
    '--password',
    '--passwd',
    '--pass',
    '--pw',
    '--token',
    '--hf_token',
    '--auth',
    '--auth-key',
    '--secret',
  ],
  ...['--api-key', '--api_key', '--apikey', '--wandb_key', '--key', '-token', '--db-pass', '--credential'],
];
/** How an option and its value are written. */
const writings: [what: string, write: (option: string, value: string) => string][] = [
  ['plain', (option, value) => `${option} ${value} --epochs 3`],
  ['last', (option, value) => `--epochs 3 ${option} ${value}`],
  ['with =', (option, value) => `${option}=${value} --epochs 3`],
  ['the value in single quotes', (option, value) => `${option} '${value} two' --epochs 3`],
  ['the option in single quotes', (option, value) => `'${option}' ${value} --epochs 3`],
  ['both in single quotes', (option, value) => `'${option} ${value}' --epochs 3`],
  ['over two lines', (option, value) => `${option} \\\n  ${value} --epochs 3`],
];
/** Where a command line is written. */
const containers: [what: string, write: (command: string) => string][] = [
  ['a submit file', (command) => `executable = a\narguments = ${command}\nqueue\n`],
  ['a submit file, in quotes', (command) => `executable = a\narguments = "${command}"\nqueue\n`],
  ['an event', (command) => `028 (5.0.0) 2026-11-10 10:00:01 Job ad\nArgs = "${command}"\n...\n`],
  ['an ad in JSON', (command) => JSON.stringify([{ Args: command, ProcId: 0 }])],
  ['a list in JSON', (command) => JSON.stringify({ args: command.replaceAll(/['\\\n]/g, '').split(/ +/) })],
  [
    'a list of Python',
    (command) => `run(['${command.replaceAll(/['\\\n]/g, '').replaceAll(/ +/g, "', '")}'])`,
  ],
  ['text in JSON in a line', (command) => `got ${JSON.stringify({ Args: command })} again`],
  ['an ad in XML', (command) => `<c><a n="Args"><s>${command}</s></a></c>`],
  ['a shell', (command) => `#!/bin/sh\nset -e\npython3 train.py ${command}; echo done\n`],
  ['a shell in quotes', (command) => `+ bash -c \`${command}\``],
];

for (const [container, within] of containers)
  test(`removed: the value of each secret option, however quoted, in ${container}`, () => {
    for (const option of options)
      for (const [quoting, write] of writings) {
        const text = within(write(option, 'planted7'));
        const kept = textWithoutSecrets(text);
        assert.doesNotMatch(kept, /planted/, `${quoting}: ${text}`);
        assert.match(kept, /epochs/, `${quoting}: ${text}`);
      }
  });

test('removed: the login of each program, in a shell and in a list', () => {
  const commands = [
    ...['mysql -ubob -pplanted7 db', 'mysqldump -u bob -p planted7 db', 'mariadb -u bob -pplanted7'],
    ...['psql -U bob -p planted7', 'sshpass -p planted7 ssh h', 'docker login -u bob -p planted7'],
    ...['curl -u bob:planted7 h', 'curl --user bob:planted7 h', 'redis-cli -a planted7', 'tool -p Planted7x'],
    ...['tool -pmysqlPlanted7'],
  ];
  for (const command of commands)
    for (const text of [
      command,
      `arguments = "${command}"`,
      `arguments = "-c '${command}'"`,
      JSON.stringify({ command: command.split(' ') }),
      `run(["${command.split(' ').join('", "')}"])`,
    ])
      assert.doesNotMatch(textWithoutSecrets(text), /planted7/i, text);
});

test('what follows a secret stays', () => {
  assert.equal(
    textWithoutSecrets('a: 1\nsecret: |\n  x\nb: 2\nPASS: all 3 tests'),
    'a: 1\nsecret: [removed]\nb: 2\nPASS: all 3 tests',
  );
});

test('a name says whether its value is a secret', () => {
  for (const name of ['WANDB_API_KEY', 'token', 'DB_PASS', 'MY_PW', 'KEY', 'SECRET_THING', 'AWS_CREDENTIALS'])
    assert.ok(isSecretName(name), name);
  for (const name of [
    'MONKEY',
    'SORT_KEY_ORDER',
    'MAX_TOKENS',
    'TOKENIZERS_PARALLELISM',
    'PWD',
    'OLDPWD',
    'KEY_FILE',
  ])
    assert.ok(!isSecretName(name), name);
});

test('a huge word takes no longer than many short ones', () => {
  const parts = [
    '\\',
    'a',
    'a_token:',
    'token:',
    'token,',
    'password:',
    'password is ',
    ':-p',
    '-p ',
    'mkdir -p ',
  ];
  const more = [
    '"token":"',
    '<password>',
    'Basic ',
    'curl -u ',
    '-u a:',
    'key ',
    'machine ',
    'cookie: ',
    'wandb ',
  ];
  // Were one quadratic, it would take minutes.
  const started = process.cpuUsage();
  for (const part of [...parts, ...more, 'queue token,', '-----BEGIN PRIVATE KEY-----']) {
    const huge = part.repeat(200_000 / part.length);
    withoutSecrets(huge);
    textWithoutSecrets(huge);
  }
  assert.ok(process.cpuUsage(started).user < 20e6);
});

const secret = 'Zx9-opaque_SECRET.value/with+more';

test('a secret is removed from a text: complete, cut at either end, encoded, repeated', () => {
  const redact = createRedact(['', secret]);
  assert.equal(redact(`got ${secret}, yes ${secret}`), 'got …, yes …');
  assert.equal(redact(`cut ${secret.slice(0, 12)}`), 'cut …');
  assert.equal(redact(`end ${secret.slice(9)} here`), 'end … here');
  assert.equal(redact(`?authz=${encodeURIComponent(secret)}&x`), '?authz=…&x');
  assert.equal(redact('nothing of it: Zx9-opa'), 'nothing of it: Zx9-opa');
  for (const before of ['', 'B', 'Bearer '])
    for (const how of ['base64', 'base64url'] as const) {
      const shown = redact(Buffer.from(before + secret + '!').toString(how));
      assert.ok(shown.length < 30, shown);
    }
});

test('a short secret is removed only as a whole, and without secrets a text is unchanged', () => {
  assert.equal(createRedact(['ab1'])('x ab1 y'), 'x … y');
  assert.equal(createRedact([])('x ab1 y'), 'x ab1 y');
});
