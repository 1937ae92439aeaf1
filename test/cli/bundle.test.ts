import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdir, stat, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { systemClock } from '@updraft/base';
import * as bundle from '../../src/cli/commands/bundle.ts';
import { attemptFiles, attemptFolder, runFiles } from '@updraft/account/run-folder';
import { loadPlan } from '../../src/job/load-plan.ts';
import { openAgentJournal, openJournal } from '@updraft/account/journal';
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
  mail: 'alice.liddell@lab.campus.example',
  user: 'alice',
  accessPoint: 'ap42.campus',
  machine: 'node-7',
  domain: 'campus.example',
  cache: 'cache-1.far.away',
  address: '10.9.8',
  longAddress: '2607-f388',
  home: '/home/alice',
  project: 'unpublished-method',
  metric: 'wonderland_score',
  ownToken: 'my-own-opaque-token-value-1',
  ownVariable: 'my-own-variable-value-2',
};
type Planted = keyof typeof planted;

const at = '2026-11-15 10:00:00';
const eventLog = `000 (012.000.000) ${at} Job submitted from host: <10.9.8.7:9618?addrs=10.9.8.7-9618+[2607-f388-107c--99]-9618&alias=ap42.campus.example&noUDP>
...
028 (012.000.000) ${at} Job ad information event triggered.
Owner = "alice"
RequestMemory = 2048
AcctGroup = "${planted.project}"
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
008 (012.000.000) ${at} updraft {"v":1,"t":"2026-11-15T10:00:00.000Z","seq":3,"job":"0000","attempt":1,"kind":"fetch-setback","object":"osdf:///ospool/ap42.campus/alice/${planted.project}.tar","server":"https://cache-1.far.away:8443","fault":{"kind":"transfer-stalled","message":"no bytes from cache-1.far.away:8443 for 60 s"}}
...
033 (012.000.000) ${at} Setting job attribute Cookie to "${planted.cookie}"
...
009 (012.000.000) ${at} Job was aborted.
	via condor_rm (by user alice)
...
`;
const ads = `ClusterId = 12
ProcId = 0
Owner = "alice"
User = "alice@campus.example"
JobStatus = 5
HoldReason = "Error from slot1_1@node-7.campus.example: token ${planted.bearer} of alice refused"
HoldReasonCode = 12
Environment = "A=${planted.plainVariable}"
Arguments = "--password ${planted.eventOption}"
Iwd = "/home/alice/${planted.project}"
`;
const submitFile = `executable = train.sh
environment = "WANDB_API_KEY=${planted.wandb} PLAIN=${planted.plainVariable} \\
  WORDS='${planted.quotedVariable}'"
+Env = "OLD=${planted.oldVariable};X=1"
arguments = --api-key ${planted.option} --epochs 3
arguments = "--password ${planted.quotedOption} --token '${planted.quotedWords}'"
notify_user = ${planted.mail}
request_memory = 4 GB
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

const project = path.resolve(import.meta.dirname, '../..');

/** Every text of an archive, and its names. */
function contentOf(archive: string): string {
  const names = execFileSync('tar', ['-tzf', archive], { encoding: 'utf8' });
  return `${names}\n${execFileSync('tar', ['-xzOf', archive], { encoding: 'utf8', maxBuffer: 1e8 })}`;
}

/** Parts of tokens and keys are secrets, too. */
const parts = [...planted.sciToken.split('.').slice(1), planted.keyLine.split('').reverse().join('')];

function assertClean(text: string): void {
  const left = (Object.keys(planted) as Planted[]).filter((name) => text.includes(planted[name]));
  assert.deepEqual(left, []);
  for (const part of parts) assert.ok(!text.includes(part));
}

const quick = {
  // So that `doctor` neither imports PyTorch nor waits for the network.
  ...{ PATH: '/nonexistent', UPDRAFT_OSDF_HOST: 'no host', XDG_RUNTIME_DIR: '/nonexistent' },
  ...{ USER: 'alice', HOME: '/home/alice', MY_API_KEY: planted.ownVariable, SCITOKEN: planted.sciToken },
};

const plantedFiles = (t: TestContext): Promise<string> =>
  temporaryFolder(t, {
    'alice.log': eventLog,
    'ads.txt': ads,
    'job.sub': submitFile,
    'job.err': printed,
    'my.dag': `JOB ${planted.project} job.sub\nVARS ${planted.project} token="${planted.urlToken}"\n`,
    'my.dag.nodes.log': eventLog,
  });

/** A run with a secret wherever a user, a program or a stranger can write one. */
async function plantedRun(t: TestContext): Promise<string> {
  const cwd = await temporaryFolder(t, {
    'train.py': `print("${planted.project}")\n`,
    'updraft.toml': `name = "${planted.project}"
[train]
command = "python3 train.py --token ${planted.option} --epochs 3 ${planted.home}"
files = ["train.py"]
outputs = ["${planted.metric}.pt"]
[train.env]
A = "${planted.tomlVariable}"
B = """
${planted.tomlLine}
"""
[data.train]
url = "https://${planted.cache}/${planted.user}/x.tar?access_token=${planted.urlToken}"
[run]
pool = "local"
[run.matrix]
${planted.metric} = ["${planted.quotedVariable}", "${planted.github}"]
`,
  });
  const folder = await createRun(await loadPlan(cwd), {}, '0.0.0', systemClock);
  const own = attemptFolder(folder, '0000', 1);
  await mkdir(own, { recursive: true });
  await mkdir(path.join(folder, 'results/0000'), { recursive: true });
  await writeFile(path.join(folder, 'results/0000/model.json'), planted.project);
  await writeFile(path.join(own, attemptFiles.out), printed);
  await writeFile(path.join(own, attemptFiles.err), printed);
  await writeFile(path.join(own, attemptFiles.order), JSON.stringify({ env: { X: planted.jsonVariable } }));
  await symlink(path.join(own, attemptFiles.err), path.join(folder, 'events.log'));
  await writeFile(
    path.join(own, attemptFiles.journal),
    `not an entry, ${planted.bearer}\n{"v":1,"kind":"of-the-future","t":"x","${planted.cookie}":"${planted.cookie}"}\n`,
  );
  const machine = { host: `${planted.machine}.${planted.domain}`, site: planted.accessPoint };
  const of = { job: '0000', attempt: 1 };
  await using agent = await openAgentJournal(path.join(own, attemptFiles.journal), of, systemClock);
  await agent.append({
    kind: 'agent-started',
    version: '0.1.0',
    pid: 7,
    gpus: ['NVIDIA A100'],
    ...machine,
  });
  await agent.append({ kind: 'progress', epoch: 1, loss: 0.5, metrics: { [planted.metric]: 0.25 } });
  const message = `refused ${planted.mail}: token ${planted.bearer}, in ${planted.home} on ${machine.host}`;
  const fault = {
    kind: 'token-refused',
    message,
    about: `https://${planted.cache}/x?sig=${planted.signature}`,
  } as const;
  await agent.append({ kind: 'fault', fault });
  await using journal = await openJournal(path.join(folder, runFiles.journal), systemClock);
  await journal.append({ ...of, kind: 'attempt-started', why: `token ${planted.sciToken}` });
  await journal.append({ ...of, kind: 'attempt-ended', outcome: 'failed', exit: 93, fault });
  return cwd;
}

test('a bundle of logs and of a DAG has what support needs, and no secret and no name', async (t) => {
  const cwd = await plantedFiles(t);
  const { out } = await runCommand(bundle, ['alice.log', '-o', 'b.tar.gz'], {
    cwd,
    env: quick,
  });
  assert.equal((await stat(path.join(cwd, 'b.tar.gz'))).mode & 0o777, 0o600);
  const text = contentOf(path.join(cwd, 'b.tar.gz'));
  assertClean(out.replaceAll(cwd, ''));
  assertClean(text);
  const names = ['log-1.jsonl', 'report.json', 'doctor.json'];
  for (const name of [...names, 'versions.json']) assert.ok(text.includes(`${name}\n`), name);
  for (const kept of [
    /"kind":"execute","job":"12\.0","time":"2026-11-15T\d\d:00:00\.000Z","host":"host-\d"/,
    /"attributes":\{"RequestMemory":2048\}/,
    /Transfer input files failure at execution point slot1_1@host-\d using protocol https\. Details: 403 for/,
    /"code":13,"subcode":403/,
    /"kind":"fetch-setback".*"server":"https:\/\/host-\d:8443".*"no bytes from host-\d:8443 for 60 s"/,
    /via condor_rm \(by user user-1\)/,
  ])
    assert.match(text, kept);
  await assert.rejects(
    runCommand(bundle, ['alice.log', '-o', 'b.tar.gz'], { cwd, env: quick }),
    /exists already/,
  );
  await runCommand(bundle, ['my.dag', '--no-doctor', '-o', 'dag.tar.gz'], { cwd, env: quick });
  const dag = contentOf(path.join(cwd, 'dag.tar.gz'));
  assertClean(dag);
  assert.match(dag, /^log-1\.jsonl$/m);
  for (const other of ['ads.txt', 'job.sub'])
    await assert.rejects(runCommand(bundle, ['alice.log', other], { cwd, env: quick }), {
      kind: 'usage',
      message: new RegExp(`${other} is no event log`),
      fix: /--with-log .*send beside the bundle/,
    });
});

test('a bundle of a run has its plan, journals and report: no secret, name, log, result or code', async (t) => {
  const cwd = await plantedRun(t);
  const { out } = await runCommand(bundle, ['--no-doctor', '--json'], { cwd, env: quick });
  const { file, files } = JSON.parse(out) as { file: string; files: { name: string }[] };
  const text = contentOf(file);
  assertClean(text);
  assert.deepEqual(
    files.map(({ name }) => name),
    [
      ...['run/jobs/0000/attempt-1/agent.jsonl', 'run/journal.jsonl', 'run/plan.json', 'versions.json'],
      'report.json',
    ],
  );
  for (const kept of [
    /"kind":"attempt-ended","outcome":"failed","exit":93|"outcome":"failed","exit":93/,
    /"kind":"token-refused"/,
    /"gpus":\["NVIDIA A100"\]/,
    /"epoch":1,"loss":0\.5/,
    /"command": "python3 train\.py --token … --epochs 3 /,
    /"url": "https:\/\/host-\d\/user-1\/…"/,
    /"memoryBytes": 2000000000/,
    /\{"leftOut":2\}/,
  ])
    assert.match(text, kept);
});

test('the end of a log is added without secrets, and only after its reader agreed', async (t) => {
  const cwd = await plantedFiles(t);
  await writeFile(path.join(cwd, 'job.err'), `${'x'.repeat(40_000)}\n${printed}as alice in /home/alice/x\n`);
  const words = ['alice.log', '--with-log', 'job.err', '--no-doctor', '-o', 'b.tar.gz'];
  const env = quick;
  await assert.rejects(runCommand(bundle, words, { cwd, env }), /no bundle was made/);
  await assert.rejects(runCommand(bundle, words, { cwd, env, ask: () => Promise.resolve('n') }), /no bundle/);
  const asked = await runCommand(bundle, words, { cwd, env, ask: () => Promise.resolve('y') });
  assert.match(
    asked.err,
    /this of job\.err would be in the bundle:[^]*epoch 1 loss 0\.5\nas alice in \/home\/alice\/x/,
  );
  const text = contentOf(path.join(cwd, 'b.tar.gz'));
  assert.match(text, /epoch 1 loss 0\.5\nas alice/);
  assert.doesNotMatch(text, /xxxxx/);
  for (const name of ['wandb', 'github', 'huggingFace', 'awsSecret', 'netrc'] as const)
    assert.ok(!text.includes(planted[name]), name);
  await assert.rejects(runCommand(bundle, ['alice.log', 'job.err'], { cwd, env }), /no event log[^]*/);
});

/** Where HTCondor names a user, a host or an address: found here by other means than in the program. */
const places = [
  /\balias=([\w.-]+)/g,
  /\bslot\w*@([\w.-]+)/g,
  /\b((?:\d{1,3}\.){3}\d{1,3}):\d/g,
  /\bby user ([\w.-]+)/g,
  /^(?:Owner|User) = "([\w.-]+)/gm,
  /\/home\/([\w-]+)/g,
];

test('no user, host or address of any log in the repository is in a bundle of them', async (t) => {
  const cwd = await temporaryFolder(t);
  const folder = path.join(project, 'test/eventlogs');
  const logs = readdirSync(folder).filter((name) => name.endsWith('.log'));
  const written = logs.map((log) => readFileSync(path.join(folder, log), 'utf8')).join('\n');
  const names = new Set(places.flatMap((place) => [...written.matchAll(place)].map(([, name = '']) => name)));
  names.delete('localhost');
  const words = logs.map((log) => path.join(folder, log));
  await runCommand(bundle, [...words, '--no-doctor', '-o', 'b.tar.gz'], { cwd, env: quick });
  const text = contentOf(path.join(cwd, 'b.tar.gz'));
  assert.ok(names.size > 3);
  assert.deepEqual(
    [...names].filter((name) => text.includes(name)),
    [],
  );
});

const isOld = process.env['UPDRAFT_TEST_POOL'] === undefined && 'the executable may be old (npm test)';

test('the program that ships leaves out the same', { skip: isOld }, async (t) => {
  const executable = path.join(project, 'dist', `updraft-linux-${process.arch}`);
  const [files, run] = [await plantedFiles(t), await plantedRun(t)];
  for (const [cwd, words] of [
    [files, ['alice.log']],
    [run, []],
  ] as const) {
    execFileSync(executable, ['bundle', ...words, '--no-doctor', '-o', 'b.tar.gz'], { cwd, env: quick });
    const text = contentOf(path.join(cwd, 'b.tar.gz'));
    assertClean(text);
    assert.match(text, /report\.json/);
  }
});
