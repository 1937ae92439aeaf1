import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runCommand } from '../../../test/cli/run-command.ts';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import * as adopt from '../commands/adopt.ts';

test('a path of the access point is an error only in a pool that surely does not share it', async (t) => {
  const cwd = await temporaryFolder(t, {
    'job.sub':
      'executable = run.sh\narguments = /home/ada/images\nshould_transfer_files = YES\nlog = a.log\nqueue\n',
    'run.sh': '#!/bin/sh\nls "$1"\n',
  });
  let printed = '';
  const out = (text: string): void => void (printed += text);
  const { out: said } = await runCommand(adopt, ['job.sub'], { cwd, env: {} });
  assert.match(said, /local-path[^]*\/home\/ada\/images` is in a home folder/);
  assert.match(said, /workers do not have it, unless the pool shares it with them/);
  const ofPool = runCommand(adopt, ['job.sub', '--pool', 'ospool'], { cwd, env: {}, out });
  await assert.rejects(ofPool, /has errors/);
  assert.match(printed, /local-path\b[^]*workers do not have it\n/);
});

test('a home folder is no sure error inside an image, behind a test, or where a failure is ignored', async (t) => {
  const script = [
    '[ -f /home/ada/a ] && . /home/ada/a',
    'ls /home/ada/b || true',
    'apptainer exec x.sif cat /home/ada/c',
    'cd /home/ada/d || exit 1',
  ];
  const lines = ['executable = run.sh', 'should_transfer_files = YES', 'log = a.log'];
  const cwd = await temporaryFolder(t, {
    'job.sub': [...lines, 'queue', ''].join('\n'),
    'docker.sub': [...lines, 'universe = docker', 'docker_image = a/b:1', 'queue', ''].join('\n'),
    'attribute.sub': [...lines, '+SingularityImage = "/cvmfs/a/b:1"', 'queue', ''].join('\n'),
    'run.sh': ['#!/bin/sh', ...script, ''].join('\n'),
  });
  const expected = ['local-path 5', 'local-path 2 warning', 'local-path 3 warning', 'local-path 4 warning'];
  assert.deepEqual([...new Set(await reported(cwd, 'job.sub', 'local-path'))].sort(), expected.sort());
  assert.deepEqual(await reported(cwd, 'docker.sub', 'local-path'), []);
  assert.deepEqual(await reported(cwd, 'attribute.sub', 'local-path'), []);
});

test('a script that nobody sends is named, unless a folder or an archive may have it', async (t) => {
  const submit = (inputs: string): string =>
    `executable = run.sh\ntransfer_input_files = ${inputs}\nshould_transfer_files = YES\nlog = a.log\nqueue\n`;
  const cwd = await temporaryFolder(t, {
    'lost.sub': submit('x.csv'),
    'sent.sub': submit('x.csv, src/main3.py'),
    'folder.sub': submit('src'),
    'unzip.sub': submit('x.zip').replace('run.sh', 'unzip.sh'),
    'run.sh': '#!/bin/sh\necho start\npython3 -u main3.py --epochs 3\n',
    'unzip.sh': '#!/bin/sh\nunzip -q x.zip\npython3 main3.py\n',
    ...{ 'x.csv': '1\n', 'x.zip': 'PK', 'src/main3.py': 'print(1)\n' },
  });
  const found = ['lost', 'sent', 'folder', 'unzip'].map((name) =>
    reported(cwd, `${name}.sub`, 'script-missing'),
  );
  assert.deepEqual(await Promise.all(found), [['script-missing 3'], [], [], []]);
  assert.deepEqual(await reported(cwd, 'unzip.sub', 'tool-missing'), ['tool-missing 2 warning']);
});

test('a folder in an argument is an error only if the script uses the argument as it is', async (t) => {
  const uses: Record<string, string> = {
    whole: 'cat "$1"',
    base: 'name=$(basename "$1"); cat "$name"',
    end: 'cat "${1##*/}"',
    below: 'echo $1; cp /afs/ada/$1 .',
    said: 'echo data/x.csv',
  };
  const names = Object.keys(uses);
  const submit = (name: string): string =>
    `executable = ${name}.sh\narguments = data/x.csv\ntransfer_input_files = data/x.csv\nlog = a.log\nqueue\n`;
  const cwd = await temporaryFolder(t, {
    'data/x.csv': '1\n',
    ...Object.fromEntries(names.map((name) => [`${name}.sub`, submit(name)])),
    ...Object.fromEntries(names.map((name) => [`${name}.sh`, `#!/bin/sh\n${uses[name]}\n`])),
  });
  const found = await Promise.all(names.map((name) => reported(cwd, `${name}.sub`, 'flat-path')));
  assert.deepEqual(found, [['flat-path 2'], [], [], [], []]);
});

/** The rules of one kind that `adopt` reports for the OSPool, and their lines. */
async function reported(cwd: string, file: string, kind: string): Promise<string[]> {
  let printed = '';
  const out = (text: string): void => void (printed += text);
  await runCommand(adopt, [file, '--pool', 'ospool', '--json'], { cwd, env: {}, out }).catch(() => undefined);
  const { findings } = JSON.parse(printed) as { findings: { rule: string; line: number; level: string }[] };
  return findings
    .filter(({ rule }) => rule.startsWith(kind))
    .map(({ rule, line, level }) => `${rule} ${line}${level === 'error' ? '' : ` ${level}`}`);
}
