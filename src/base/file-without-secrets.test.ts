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
  ['a short key for a password', 'pwd: planted'],
  ['a password that begins like a path', 'DB_PWD=/planted77 x'],
  ['the same in quotes', 'MYSQL_PWD="/planted77"'],
  ['an option with a dot in its value', 'tool -p Secret77.planted'],
  ['an option with a folder as its value', 'tool -p planted7X/'],
  ['the login of any program', 'tool -u bob:planted7'],
  ['a spoken password', 'your password is planted12'],
  ['a value on the next line', 'API_KEY = \\\n  planted1'],
  ['a spoken passwd', 'passwd is planted12'],
  ['a password in a comment', '# password for the db: planted12 (ask Bob)'],
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
        const kept = fileWithoutSecrets(text, new Map());
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
      assert.doesNotMatch(fileWithoutSecrets(text, new Map()), /planted7/i, text);
});

test('options, sentences and commands without a secret stay', () => {
  const texts = [
    '--tokenizer bert --max-tokens 512 --author bob --keyboard x --passes 3',
    'arguments = "--epochs 3 --no-password"\nqueue 5',
    'apptainer exec --pwd /srv image.sif x',
    'mkdir -p results/run1 && srun -p gpu2 x',
    'password is wrong; passwd was not given: see the page',
    'docker run -u https://h/x; docker run -u 1000:1000',
    'WANDB_API_KEY =\nRUN_NAME = one',
    'PWD=/home/bob/run OLDPWD="/home/bob"',
  ];
  for (const text of texts) assert.equal(fileWithoutSecrets(text, new Map()), text);
});

test('what follows a secret stays', () => {
  const kept = fileWithoutSecrets('a: 1\nsecret: |\n  x\nb: 2\nPASS: all 3 tests', new Map());
  assert.match(kept, /^a: 1\nsecret: \[removed\]\nb: 2\nPASS: all 3 tests$/);
});

for (const [what, huge] of [
  ['word', 'a'.repeat(300_000)],
  ['queue statement', `queue ${'token,'.repeat(50_000)}`],
] as const)
  test(`a huge ${what} takes no longer than many short ones`, () => {
    const started = process.cpuUsage();
    assert.equal(fileWithoutSecrets(huge, new Map()), huge);
    assert.ok(process.cpuUsage(started).user < 5e6);
  });
