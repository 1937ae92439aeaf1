import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { systemClock } from '../../src/base/clock.ts';
import * as bundle from '../../src/cli/commands/bundle.ts';
import { attemptFiles, attemptFolder, runFiles } from '../../src/job/layout.ts';
import { loadPlan } from '../../src/job/load-plan.ts';
import { openJournal } from '../../src/journal/file.ts';
import { createRun } from '../../src/run/create-run.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { runCommand } from './run-command.ts';

const base64url = (text: string): string => Buffer.from(text).toString('base64url');
/** As SciTokens are. */
const jwt = (subject: string): string =>
  `${base64url('{"alg":"RS256","typ":"JWT"}')}.${base64url(`{"sub":"${subject}","scope":"read:/"}`)}.${base64url(`signature of ${subject}, long enough`)}`;
const privateKey = (body: string, kind = 'RSA '): string =>
  `-----BEGIN ${kind}PRIVATE KEY-----\n${body}\n${body.split('').reverse().join('')}\n-----END ${kind}PRIVATE KEY-----`;

// Parts are joined, so that no scanner takes this file for a leak.
const planted = {
  sciToken: jwt('alice'),
  bearer: ['Xy7', 'opaque.bearer.token.91'].join('_'),
  urlToken: 'qToken0123456789',
  signature: 'sigABCDEF0123456789',
  password: 'hunter2-basic-auth',
  awsKey: ['AKIA', 'IOSFODNN7EXAMPLE'].join(''),
  awsSecret: ['/wJalrXUtnFEMI/K7MDENG', 'bPxRfiCYEXAMPLEKEY'].join('/'),
  huggingFace: ['hf', 'AbCdEfGhIjKlMnOpQrStUvWxYz012345'].join('_'),
  wandb: '0123456789abcdef0123456789abcdef01234567',
  github: ['ghp', 'a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8'].join('_'),
  keyLine: 'MIIEpAIBAAKCAQEAplanted1private2key3',
  escapedKeyLine: 'MIIEvQIBADANBgkplanted4escaped5key6',
  plainVariable: 'a-plain-value-of-mine',
  quotedVariable: 'two words of mine',
  oldVariable: 'old-style-value',
  tomlVariable: 'toml-value-of-mine',
  tomlLine: 'second-line-of-a-toml-value',
  yamlVariable: 'yaml-value-of-mine',
  jsonVariable: 'json-value-of-mine',
  cookie: 'session-cookie-0815',
  option: 'given-by-option-77',
  netrc: 'netrc-word-4711',
  netrcLine: 'f0e1d2c3b4a5968778695a4b3c2d1e0ff0e1d2c3',
  kaggle: '00112233445566778899aabbccddeeff',
  sshWord: 'ssh-word-0042',
  apiKeyInJson: 'quoted-"inner"-key-99',
  quotedOption: 'first-in-quotes-78',
  quotedWords: 'words in quotes 79',
  eventOption: 'in-an-event-80',
  listOption: 'in-a-list-81',
  shortOption: 'short-option-82',
  spoken: 'spoken-word-83',
  joinedLogin: 'joined-login-84',
  ownToken: 'my-own-opaque-token-value-1',
  ownVariable: 'my-own-variable-value-2',
};
type Planted = keyof typeof planted;

const at = '2026-11-15 10:00:00';
const eventLog = `000 (012.000.000) ${at} Job submitted from host: <10.9.8.7:9618?addrs=10.9.8.7-9618+[2607-f388-107c--99]-9618&alias=ap42.campus.example&noUDP>
...
028 (012.000.000) ${at} Job ad information event triggered.
Owner = "alice"
Env = "SECRET_THING=${planted.oldVariable};B=2"
Args = "--password ${planted.eventOption}"
...
001 (012.000.000) ${at} Job executing on host: <10.9.8.6:9618?alias=node-7.campus.example>
	SlotName: slot1_1@node-7.campus.example
...
012 (012.000.000) ${at} Job was held.
	Transfer input files failure at execution point slot1_1@node-7.campus.example using protocol https. Details: 403 for https://me:${planted.password}@data.campus.example/x?access_token=${planted.urlToken}&X-Amz-Signature=${planted.signature} with Authorization: Bearer ${planted.bearer} (by user alice, /home/alice/x, node-7, 10.9.8.6)
	Code 13 Subcode 403
...
`;
const submitFile = `executable = train.sh
environment = "WANDB_API_KEY=${planted.wandb} PLAIN=${planted.plainVariable} \\
  WORDS='${planted.quotedVariable}'"
+Env = "OLD=${planted.oldVariable};X=1"
arguments = --api-key ${planted.option} --epochs 3
arguments = "--password ${planted.quotedOption} --token '${planted.quotedWords}'"
notify_user = alice@campus.example
queue
`;
const printed = `HF_TOKEN: ${planted.huggingFace}
{'AWS_ACCESS_KEY_ID': '${planted.awsKey}', 'AWS_SECRET_ACCESS_KEY': '${planted.awsSecret}'}
aws_secret_access_key = ${planted.awsSecret}
curl -H "Authorization: Basic ${Buffer.from(`me:${planted.password}`).toString('base64')}" https://x.example
remote: https://${planted.github}@github.com/me/x
Set-Cookie: ${planted.cookie}; Path=/
machine x.example login me password ${planted.netrc}
wandb: Appending key for api.wandb.ai to your netrc file: ${planted.netrcLine}
kaggle.json: {"username":"me","key":"${planted.kaggle}"}
sshpass -p ${planted.sshWord} ssh me@x.example
${privateKey(planted.keyLine)}
subprocess.run(["curl", "--token", "${planted.listOption}"], pw='--pw ${planted.shortOption}')
passwd is ${planted.spoken}
mysql -ualice -p${planted.joinedLogin} db
read ${planted.ownToken} and ${planted.ownVariable}
epoch 1 loss 0.5
`;

/** Every text of an archive, and its names. */
function contentOf(archive: string): string {
  const names = execFileSync('tar', ['-tzf', archive], { encoding: 'utf8' });
  return `${names}\n${execFileSync('tar', ['-xzOf', archive], { encoding: 'utf8', maxBuffer: 1e8 })}`;
}

function assertClean(text: string, except: Planted[] = []): void {
  const left = (Object.keys(planted) as Planted[]).filter((name) => text.includes(planted[name]));
  assert.deepEqual(left, except);
  // Parts of tokens and keys are secrets, too.
  for (const part of [
    'key-99',
    ...planted.sciToken.split('.').slice(1),
    planted.keyLine.split('').reverse().join(''),
  ])
    assert.ok(!text.includes(part));
}

/** So that `doctor` neither imports PyTorch nor waits for the network. */
const quick = { PATH: '/nonexistent', UPDRAFT_OSDF_HOST: 'no host', XDG_RUNTIME_DIR: '/nonexistent' };

test('a bundle of logs and other files has no secret of any kind', async (t) => {
  const cwd = await temporaryFolder(t, {
    'my.log': eventLog,
    'job.sub': submitFile,
    'job.out': printed,
    'job.yaml': `train:\n  env:\n    A: ${planted.yamlVariable}\n    B: |\n      ${planted.tomlLine}\n  command: x\n`,
    token: `${planted.ownToken}\n`,
  });
  const env = {
    ...quick,
    BEARER_TOKEN_FILE: path.join(cwd, 'token'),
    MY_API_KEY: planted.ownVariable,
    SCITOKEN: planted.sciToken,
  };
  await writeFile(
    path.join(cwd, 'job.err'),
    `got ${planted.sciToken}\nand ${planted.sciToken.slice(0, 60)}\n`,
  );
  const words = ['my.log', 'job.sub', 'job.out', 'job.err', 'job.yaml'];
  const { out } = await runCommand(bundle, words, { cwd, env });
  const archive = path.join(cwd, 'updraft-bundle-my.tar.gz');
  assert.equal((await stat(archive)).mode & 0o777, 0o600);
  const text = contentOf(archive);
  assertClean(text);
  for (const name of [
    ...words.map((word) => `files/${word}`),
    'report.txt',
    'report.json',
    'report.html',
    'doctor.txt',
  ])
    assert.ok(text.includes(`${name}\n`), name);
  assert.match(text, /epoch 1 loss 0\.5/, 'the rest is there');
  assert.match(text, /WANDB_API_KEY=\[removed\] PLAIN=\[removed\] WORDS=\[removed\]/, 'and so are names');
  assert.match(text, /--epochs 3/);
  assert.match(text, /Updraft 0\.0\.0\n/);
  assert.match(text, /alice[^]*node-7\.campus\.example/, 'names stay unless they are to be replaced');
  assert.match(out, /removed: .*1 × private key/);
  assert.match(out, /\d of your own secrets/);
  assert.match(out, /names of users and hosts are unchanged/);
  await assert.rejects(runCommand(bundle, [...words, '--no-doctor'], { cwd, env }), /exists already/);
});

test('a bundle of a DAG has its files, inner DAGs, splices and submit files, without their secrets', async (t) => {
  const cwd = await temporaryFolder(t, {
    'my.dag': `JOB A job.sub\nSPLICE s part.dag\nSUBDAG EXTERNAL B in.dag DIR sub\nCONFIG my.config\nVARS A token="${planted.urlToken}"\n`,
    'my.dag.dagman.out': '11/15/26 10:00:00 ** condor_dagman STARTING UP\n',
    'my.dag.rescue001': 'DONE A\n',
    'my.dag.rescue002': 'DONE A\n',
    'my.dag.nodes.log': eventLog,
    'my.config': '',
    'part.dag': 'JOB P job.sub\n',
    'sub/in.dag': 'JOB I in.sub\n',
    'sub/in.sub': 'executable = in\nqueue\n',
    'job.sub': submitFile,
    'other.txt': 'not of the DAG\n',
  });
  const env = { PWD: cwd, OLDPWD: path.dirname(cwd) };
  await writeFile(path.join(cwd, 'my.config'), `# in ${cwd}\n`);
  const { out } = await runCommand(bundle, ['my.dag', '--no-doctor'], { cwd, env });
  const text = contentOf(path.join(cwd, 'updraft-bundle-my.dag.tar.gz'));
  assertClean(text);
  assert.ok(text.includes(`# in ${cwd}\n`), 'a folder is no secret');
  const files = [...out.matchAll(/files\/(\S+)/g)].map(([, name = '']) => name).sort();
  assert.deepEqual(files, [
    ...['in.dag', 'in.sub', 'job.sub', 'my.config', 'my.dag', 'my.dag.dagman.out', 'my.dag.nodes.log'],
    ...['my.dag.rescue002', 'part.dag'],
  ]);
});

test('a bundle of a DAG takes more files, each once, and leaves out folders', async (t) => {
  const cwd = await temporaryFolder(t, {
    'my.dag': 'JOB A job.sub\nCONFIG folder\n',
    'my.dag.nodes.log': eventLog,
    'folder/file': '',
    'job.sub': submitFile,
    'job.err': 'Killed\n',
  });
  for (const words of [['my.dag'], ['job.err', 'my.dag', './job.sub', 'my.dag.nodes.log']]) {
    const output = `${words.length}.tar.gz`;
    const { out } = await runCommand(bundle, [...words, '--no-doctor', '-o', output], { cwd, env: quick });
    const files = [...out.matchAll(/files\/(\S+)/g)].map(([, name = '']) => name).sort();
    const more = words.length > 1 ? ['job.err'] : [];
    assert.deepEqual(files, [...more, 'job.sub', 'my.dag', 'my.dag.nodes.log']);
  }
});

test('--anonymous replaces users, hosts, addresses and the home, each always by the same name', async (t) => {
  const home = '/data/people/alice';
  const cwd = await temporaryFolder(t, {
    'alice.log': eventLog,
    'job.out': `on node-7 as alice in ${home}/x, ${home}/y\nalice_results of 10.9.8.6\ngave up cache-1.far.away:8443, c.lab.example.org\nmysql -ualice -h db\n`,
  });
  const { out } = await runCommand(
    bundle,
    ['alice.log', 'job.out', '--anonymous', '-o', 'b.tar.gz', '--json', '--no-doctor'],
    {
      cwd,
      env: { ...quick, HOME: home, USER: 'alice' },
    },
  );
  const text = contentOf(path.join(cwd, 'b.tar.gz'));
  assertClean(text);
  for (const name of [
    'alice',
    'node-7',
    'ap42',
    'campus',
    '10.9.8',
    '2607-f388',
    '/data/people',
    'far.away',
    'lab.example',
  ])
    assert.ok(!text.includes(name), name);
  const [user] = /user\d+(?=\.log)/.exec(text) ?? [];
  assert.match(
    text,
    new RegExp(`on (host\\d+) as ${user} in /home/me/x, /home/me/y\n${user}_results of address\\d`),
  );
  const [, host] = /on (host\d+) as/.exec(text) ?? [];
  assert.ok(text.includes(`SlotName: slot1_1@${host}\n`), 'the short and the long name are one host');
  const { replaced } = JSON.parse(out) as { replaced: Record<string, number> };
  assert.ok(Object.values(replaced).every((count) => count > 0));
  assert.deepEqual(Object.keys(replaced).sort(), ['address', 'home', 'host', 'user']);
});

test('a bundle of a run has its journals, logs and job file, but no secret, no result and no code', async (t) => {
  const cwd = await temporaryFolder(t, {
    'train.py': 'print("my unpublished method")\n',
    'updraft.toml': `name = "mine"
[train]
command = "python3 train.py --token ${planted.option}"
files = ["train.py"]
outputs = ["model.pt"]
[train.env]
A = "${planted.tomlVariable}"
B = """
${planted.tomlLine}
"""
[run]
pool = "local"
`,
  });
  const folder = await createRun(await loadPlan(cwd), {}, '0.0.0', systemClock);
  const own = attemptFolder(folder, '0000', 1);
  await mkdir(own, { recursive: true });
  await mkdir(path.join(folder, 'results/0000'), { recursive: true });
  await writeFile(path.join(folder, 'results/0000/model.json'), '{"weights": "my-model"}');
  await writeFile(path.join(own, attemptFiles.out), printed);
  const escaped = JSON.stringify({
    key: privateKey(planted.escapedKeyLine, ''),
    api_key: planted.apiKeyInJson,
  });
  await writeFile(path.join(own, attemptFiles.err), `request ${escaped}\n${JSON.stringify(escaped)}\n`);
  await writeFile(
    path.join(own, attemptFiles.order),
    JSON.stringify({ env: { X: planted.jsonVariable }, secrets: ['N'], note: `Bearer ${planted.bearer}` }),
  );
  await using journal = await openJournal(path.join(folder, runFiles.journal), systemClock);
  await journal.append({
    kind: 'attempt-started',
    job: '0000',
    attempt: 1,
    why: `token ${planted.sciToken}`,
  });
  const { out } = await runCommand(bundle, ['--no-doctor'], {
    cwd,
    env: { ...quick, MY_API_KEY: planted.ownVariable, BEARER_TOKEN: planted.ownToken },
  });
  const [archive = ''] = /\/\S+\.tar\.gz/.exec(out) ?? [];
  const text = contentOf(archive);
  assertClean(text);
  for (const name of [
    'updraft.toml',
    'run/plan.json',
    'run/journal.jsonl',
    'run/jobs/0000/attempt-1/out.log',
  ])
    assert.ok(text.includes(`${name}\n`), name);
  assert.match(text, /"kind":"attempt-started"/, 'journals stay JSON');
  assert.doesNotMatch(text, /unpublished method|my-model/);
  assert.equal(
    await readFile(path.join(own, attemptFiles.out), 'utf8'),
    printed,
    'the run itself is not changed',
  );
});
