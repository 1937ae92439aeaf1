import assert from 'node:assert/strict';
import { chmod, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { temporaryFolder } from '../../test/temporary-folder.ts';
import type { Asking } from './asking.ts';
import { makePlanFrom } from '../../test/check/facts.ts';
import { askSoftware, askVersions, type SoftwareQuestion } from './ask-software.ts';

const use = (name: string) => ({ name, place: { file: 'x', line: 1 }, isCertain: true });

/** Asks about `cat` and `no-such-tool` with this script as `apptainer`. */
async function ask(t: TestContext, script: string, more: Partial<SoftwareQuestion> = {}, timeoutMs = 20_000) {
  const folder = await temporaryFolder(t, { 'x.sif': '' });
  if (script !== '') {
    await writeFile(path.join(folder, 'apptainer'), `#!/bin/sh\n${script}\n`);
    await chmod(path.join(folder, 'apptainer'), 0o755);
  }
  const asking = {
    env: { PATH: `${folder}:/usr/bin:/bin` },
    signal: new AbortController().signal,
    kill: (pid: number, signal: NodeJS.Signals) => void process.kill(pid, signal),
  } as unknown as Asking;
  const uses = { tools: [use('cat'), use('no-such-tool')], modules: [], pythons: [] };
  const question: SoftwareQuestion = {
    image: 'x.sif',
    folder,
    isPacked: false,
    isHere: false,
    declared: [],
    wantCuda: false,
    uses,
    ...more,
  };
  return await askSoftware(asking, question, timeoutMs);
}

test('the answer of an image is found in whatever else it prints', async (t) => {
  const { facts, looked } = await ask(t, 'echo welcome; exec /bin/sh -s');
  assert.deepEqual([...(facts?.tools ?? [])], ['cat']);
  assert.deepEqual(looked, [{ what: 'the image x.sif', said: '1 of 2 commands found' }]);
});

test('a container runtime that hangs is killed, and the check continues', async (t) => {
  const { facts, unchecked } = await ask(t, 'exec sleep 600', {}, 300);
  assert.equal(facts, undefined);
  assert.match(unchecked[0]?.why ?? '', /inspecting the image x\.sif failed: no answer within 0\.3 s/);
});

test('the error of a failed container runtime is quoted', async (t) => {
  const { unchecked } = await ask(t, 'echo "FATAL: no user namespaces" >&2; exit 255');
  assert.match(unchecked[0]?.why ?? '', /failed: FATAL: no user namespaces$/);
});

test('absent images, packed environments and other platforms are reported as unchecked', async (t) => {
  const why = async (more: Partial<SoftwareQuestion>) => (await ask(t, '', more)).unchecked[0]?.why ?? '';
  assert.match(await why({ image: 'osdf:///a/x.sif' }), /not on this machine; .*--image FILE/);
  assert.match(await why({ image: undefined }), /whatever software the worker has/);
  assert.match(await why({ image: undefined, isPacked: true }), /updraft env show/);
});

test("without an image the local pool's software is this machine's", async (t) => {
  const { facts } = await ask(t, '', { image: undefined, isHere: true });
  assert.deepEqual([facts?.where, facts?.isImage, facts?.tools.has('cat')], ['this machine', false, true]);
});

test('the folder of a job says which versions it wants, and what cannot be read is named', async (t) => {
  const folder = await temporaryFolder(t, {
    'requirements-dev.txt': 'ruff',
    'requirements.txt': 'torch>=2.6\nnumpy<2; platform_machine == "arm64"\n',
  });
  const versions = new Map([
    ['torch', '1.13.0a0'],
    ['numpy', '2.0'],
  ]);
  const python = { path: '/usr/bin/python3', has: new Set<string>(), versions };
  const found = { where: 'this machine', isImage: false, tools: new Set<string>(), python };
  const plan = { ...makePlanFrom(), folder };
  const { facts, unchecked } = await askVersions(plan, found);
  assert.deepEqual(facts, {
    file: 'requirements.txt',
    where: 'on this machine (/usr/bin/python3)',
    unmet: [{ name: 'torch', spec: '>=2.6', has: '1.13.0a0' }],
  });
  assert.deepEqual(
    unchecked.map(({ what }) => what),
    ['requirements.txt: numpy; platform_machine == "arm64"'],
  );
  await writeFile(path.join(folder, 'requirements.txt'), '-r nothing.txt\n');
  assert.match((await askVersions(plan, found)).unchecked[0]?.why ?? '', /requirements\.txt: no such file/);
});
