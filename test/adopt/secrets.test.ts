import assert from 'node:assert/strict';
import { readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import * as adopt from '../../src/cli/commands/adopt.ts';
import { hideSecretsOf, lintSubmission } from '@updraft/htcondor/lint';
import { lineWithoutSecrets, survey } from '@updraft/htcondor/testing';
import { draftSubmitted } from '../../src/draft/draft-submitted.ts';
import { renderJob } from '../../src/draft/render-job.ts';
import { limitsAt } from '../../src/pool/htcondor.ts';
import { type Drop, lintDropped, lintDroppedDag, readDrop } from '@updraft/page/dropped';
import { runCommand } from '../cli/run-command.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const ospool = await limitsAt('ospool');

/** Any of these in an output is a leak, also without its end. */
const leak = /planted|254b491166|hf_AbCd/i;
const hex = '254b491166b72b5f961613863d702748580bead9';

/** Every way to write a secret into a value. */
const values = [
  '--token Planted01',
  '"--password Planted02 --x"',
  `"--password 'Planted03 words' --x"`,
  '"A_TOKEN=Planted04 DB_PASS=Planted05 X=1" # comment',
  `A_KEY=${hex};FOO=bar`,
  'https://user:Planted06@host/x.dat, osdf:///a/b?authz=Planted07',
  'osdf:///a/b?authz=Planted08, missing.dat',
  'curl -u bob:Planted09 | mysql -pPlanted10',
  'hf_AbCdEfGhIjKlMnOpQrStUvWxYz012345',
  `${'x'.repeat(40)} --api-key Planted11aVeryLongSecretThatIsCutInTheMiddle (`,
  'yes --token planted',
];
const commands =
  `executable arguments environment transfer_input_files transfer_output_files transfer_output_remaps
  requirements rank periodic_release periodic_hold periodic_remove on_exit_remove on_exit_hold require_gpus
  request_memory request_disk request_cpus request_gpus gpus_minimum_memory should_transfer_files
  when_to_transfer_output universe container_image docker_image log output error input initialdir getenv
  notification max_retries stream_output transfer_checkpoint_files checkpoint_exit_code batch_name
  notify_user kill_sig +SingularityImage +RequestMemory +request_gpus +Mine My_Macro WantGPULab
  MY_TOKEN MYSQL_PASSWORD WANDB_API_KEY +HFToken +AToken`.split(/\s+/);

const script = `#!/bin/bash
export HF_TOKEN=hf_AbCdEfGhIjKlMnOpQrStUvWxYz012345
python3 train.py --password Planted21 --wandb_key ${hex} | tee log; echo done
cd /home/bob --token Planted22
wget https://bob:Planted23@host/x.tar && tar xf x.tar
`;

/** A submit file that sets a command twice, so that both values are quoted. */
const submitFile = (command: string, value: string): string =>
  [
    ...(command === 'executable' ? [] : ['executable = run.sh']),
    'SPARE = Planted31',
    `${command} = ${value}`,
    `${command} = ${value} again`,
    `+Other = --token $(SPARE)`,
    'queue A_TOKEN in (Planted32 Planted33)',
    'queue A_TOKEN in (Planted34)',
    '',
  ].join('\n');

const now = new Date(0);

const dropOf = (texts: Record<string, string>): Promise<Drop> => {
  const files = Object.entries(texts).map(([name, text]) => ({ name, blob: new Blob([text]), writtenAt: 0 }));
  return readDrop(files, [], []);
};

test('no secret of a submit file is in anything that the page shows of it', async () => {
  for (const command of commands)
    for (const value of values) {
      const text = submitFile(command, value);
      const shown = lintDropped('job.sub', await dropOf({ 'job.sub': text, 'run.sh': script }), now, ospool);
      assert.doesNotMatch(JSON.stringify(shown), leak, text);
    }
});

test('no secret of a submit file is in the job file made from it, or in the notes about it', () => {
  const files = { read: () => undefined, stat: () => undefined, list: () => undefined };
  const facts = { script: 'job.sub', pool: 'condor', isRemote: true, schema: '' };
  const ofList = [
    '$(A_TOKEN)',
    '--pw $(A_TOKEN)',
    '$(words)',
    'in/$(A_TOKEN).dat',
    'Mine == "$(A_TOKEN)"',
    'a$(A_SECRET)',
  ];
  const quoted = `--api-key 'Some planted81 12planted' --x 1`;
  const lists = ['queue', 'queue A_TOKEN in (Planted61 Planted62)', 'queue words in (--token=Planted63)'];
  for (const command of [...commands, 'shell'])
    for (const value of [...values, quoted, ...ofList])
      for (const queue of lists) {
        const program = /^(executable|shell)$/.test(command) ? [] : ['executable = run.sh'];
        const text = [...program, 'A_SECRET = Planted64', `${command} = ${value}`, queue, ''].join('\n');
        const found = survey({ file: '/a/job.sub', text, files, env: {}, now, limits: ospool });
        const draft = draftSubmitted('/a/job.sub', found);
        if (draft === undefined) continue;
        assert.doesNotMatch(renderJob(draft, facts), leak, text);
      }
});

test('a secret in the arguments is reported, and the job file says how to give it', async (t) => {
  const cwd = await temporaryFolder(t, {
    'job.sub': [
      'executable = run.sh',
      `arguments = "--api-key 'Planted 71 72345678' --pw planted22 --lr 0.1 --tokenizer bert-base-cased"`,
      'queue',
    ].join('\n'),
    'run.sh': script,
  });
  const said: string[] = [];
  const print = (one: string): void => void said.push(one);
  await runCommand(adopt, ['job.sub'], { cwd, env: {}, out: print, err: print }).catch(() => undefined);
  await runCommand(adopt, ['--write', 'job.sub'], { cwd, env: {}, out: print, err: print });
  const written = await readFile(path.join(cwd, 'updraft.toml'), 'utf8');
  assert.match(
    written,
    /^command = ".\/run.sh --api-key '\[removed\]' --pw '\[removed\]' --lr 0.1 --tokenizer bert-base-cased"$/m,
  );
  const all = said.join('');
  assert.match(all, /to fill in: \[removed\]: a secret was here.*a file.*\[train\.secrets\]/);
  assert.match(all, /`--api-key` is a secret in `arguments`/);
  assert.match(all, /`--pw` is a secret in `arguments`/);
  assert.doesNotMatch(all + written, leak);
});

test('a word of the environment without a name is not shown, in the line or in what HTCondor says of it', async () => {
  for (const value of ['"A=1 planted"', 'planted', 'A=1;planted', '"A=1 planted2 C"', `"A='x planted"`]) {
    const line = `environment = ${value}`;
    const text = `executable = run.sh\n${line}\nqueue\n`;
    const shown = lintDropped('job.sub', await dropOf({ 'job.sub': text }), now, ospool);
    assert.doesNotMatch(JSON.stringify(shown), leak, value);
    const refusal = "Missing '=' after environment variable 'planted'.";
    assert.doesNotMatch(hideSecretsOf([line])(value.includes('2') ? '' : refusal), leak, value);
  }
  assert.equal(
    lineWithoutSecrets(`environment = "A = planted B='two words' NAME"`),
    `environment = "A = [removed] B='[removed] [removed]' NAME"`,
  );
  for (const line of [`environment = "A=1 B='two words'"`, 'environment = A=1;B=x y', 'log = plain words'])
    assert.equal(lineWithoutSecrets(line), line);
});

test('a variable `env` of a script is no environment', async () => {
  const script = 'env=/opt/torch; source /opt/activate $env \\ \n--lr 3\n';
  for (const start of ['', '#!/bin/bash\n']) {
    const drop = await dropOf({
      'job.sub': 'executable = run.sh\nqueue\n',
      'run.sh': start + script,
    });
    const shown = JSON.stringify(lintDropped('job.sub', drop, now, ospool));
    assert.doesNotMatch(shown, /removed|…/);
    assert.match(shown, /env=\/opt\/torch; source .*line above.*: env=\/opt\/torch; source \/opt/);
  }
});

test('no secret of a DAG is in anything that the page shows of it', async () => {
  const dag = [
    'JOB A a.sub',
    'VARS A token="Planted41" args="--password Planted42"',
    'SCRIPT POST A check.sh --token Planted43 $RETURN',
    'VARS B token="Planted44"',
    'NONSENSE --password Planted45',
    'PARENT A CHILD C',
  ].join('\n');
  for (const value of values) {
    const drop = await dropOf({
      'a.dag': dag,
      'a.sub': submitFile('arguments', `${value} $(args)`),
      'run.sh': script,
      'check.sh': script,
    });
    assert.doesNotMatch(
      JSON.stringify(lintDroppedDag('a.dag', drop, now, await limitsAt('htcondor'))),
      leak,
      value,
    );
  }
});

test('no secret of a submit file is printed, as text or JSON, or written into its job file', async (t) => {
  const text = [
    'executable = run.sh',
    `WANDB_API_KEY = ${hex}`,
    'MYSQL_PASSWORD = Planted51',
    '+HFToken = "hf_AbCdEfGhIjKlMnOpQrStUvWxYz012345"',
    `environment = "DB_PASS=Planted52 AWS_SECRET_ACCESS_KEY='Planted53/x' X=1" # comment`,
    `environment = WANDB_API_KEY=${hex};FOO=bar;DB_PASS=Planted54`,
    'transfer_input_files = https://user:Planted55@host/x.dat, osdf:///a/b?authz=Planted56',
    'log = a.log',
    'queue A_TOKEN in (Planted57 Planted58)',
    '',
  ].join('\n');
  const cwd = await temporaryFolder(t, { 'job.sub': text, 'run.sh': script });
  const said: string[] = [];
  const print = (one: string): void => void said.push(one);
  for (const [command, ...words] of [
    [adopt, 'job.sub'],
    [adopt, '--json', 'job.sub'],
    [adopt, '--json', '--pool', 'ospool', 'job.sub'],
    [adopt, '--write', 'job.sub'],
  ] as const)
    await runCommand(command, words, { cwd, env: {}, out: print, err: print }).catch((error: unknown) => {
      said.push(JSON.stringify(error, Object.getOwnPropertyNames(error)).replace(/"stack".*/, ''));
    });
  const written = path.join(cwd, 'updraft.toml');
  said.push(await readFile(written, 'utf8'));
  await rm(written);
  assert.match(said.join('\n'), /environment-secret[^]*looks like a secret/);
  for (const one of said) assert.doesNotMatch(one, leak);
});

test('a secret is found by its form, by its name before several words, and in every URL', () => {
  const files = { read: () => undefined, stat: () => undefined, list: () => undefined };
  const found = (line: string): string[] => {
    const text = `executable = run.sh\n${line}\nqueue\n`;
    const facts = survey({ file: '/a/job.sub', text, files, env: {}, now, limits: ospool });
    const own = lintSubmission(facts).filter(({ rule }) => /secret$/.test(rule));
    for (const { message, fix } of own) assert.doesNotMatch(message + fix, leak, line);
    return own.map(({ rule, message }) => `${rule} ${/`(.*?)`|a word/.exec(message)?.[0] ?? ''}`);
  };
  const key = 'hf_AbCdEfGhIjKlMnOpQrStUvWxYz012345';
  const jwt = ['eyJhbGciOiJFUzI1', 'planted', 'planted'].join('.');
  const secret: [line: string, found: string[]][] = [
    [`environment = "HF=${key} A=1"`, ['environment-secret `HF`']],
    [`environment = HF=${key};X=${jwt}`, ['environment-secret `HF`', 'environment-secret `X`']],
    [`environment = "MY_PASSWORD='two planted' B=2"`, ['environment-secret `MY_PASSWORD`']],
    ['environment = "DB=postgres://u:planted@h/db"', ['environment-secret `DB`']],
    [`arguments = train ${key} ${jwt}`, ['environment-secret a word']],
    [`arguments = "--token Planted01 x"`, ['environment-secret `--token`']],
    ['output_destination = https://me:planted@h/x', ['url-secret `password`']],
  ];
  for (const [line, expected] of secret) assert.deepEqual(found(line), expected, line);
  for (const line of [
    'environment = "REPO=ssh://git@example.org/x SORT_KEY=validation_loss TOKENIZER=hf_transformers_checkpoint_large"',
    'arguments = "--data https://example.org/a?x=1 --tokens 4096 sk-learn-pipelines-and-models"',
    'output_destination = https://me@example.org/x',
  ])
    assert.deepEqual(found(line), [], line);
});

test('a token is hidden whole, also if another one of the file has a part of it', () => {
  const [one, other] = ['Planted0123456789abcdefghij', 'NODE0123456789abcdefghijk'].map(
    (text) => `ghp_${text}`,
  );
  const hide = hideSecretsOf([`# the token ${one}`]);
  assert.equal(hide(`the submit file of ${other} is not there`), 'the submit file of [removed] is not there');
  const files = { read: () => undefined, stat: () => undefined, list: () => undefined };
  const text = `executable = run.sh\nMY_TOKEN = ${one}\nbatch_name = ${other}\narguments = ${other}\nqueue\n`;
  const draft = draftSubmitted(
    '/a/job.sub',
    survey({ file: '/a/job.sub', text, files, env: {}, now, limits: ospool }),
  );
  assert.deepEqual([draft?.name, draft?.command], ['job', "./run.sh '[removed]'"]);
});
