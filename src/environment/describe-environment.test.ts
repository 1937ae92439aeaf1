import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { describeLocked, loadWorkspace, type Workspace } from './load-workspace.ts';
import { readLock } from './pixi-lock.ts';

const folder = path.resolve(import.meta.dirname, '../../test/environment/workspaces');
const workspace = (name: string, manifest = 'pixi.toml'): Promise<Workspace> =>
  loadWorkspace(path.join(folder, name, manifest));

test('a lock of version 6 tells Python, PyTorch and its build, CUDA, size and what GPU it needs', async () => {
  const facts = describeLocked(await workspace('v6'), 'gpu', 'linux-64');
  const { hash, needs, ...rest } = facts;
  assert.match(hash, /^[0-9a-f]{64}$/);
  assert.deepEqual(rest, {
    environment: 'gpu',
    platform: 'linux-64',
    subdir: 'linux-64',
    packages: 6,
    python: '3.12.8',
    torch: { version: '2.5.1', from: 'conda', build: 'gpu', cuda: '12.6' },
    cuda: '12.6',
    bytes: 1_059_768_940,
    guessed: 0,
  });
  // The manifest asks for more than the packages do (`__cuda >=12`).
  assert.deepEqual(needs, {
    cuda: '12.4',
    capability: 5,
    why: ['driver for CUDA 12.4: the manifest declares it', 'capability 5.0: CUDA 12.6'],
  });
});

test('a CPU build is told from its build string, and needs no GPU', async () => {
  const facts = describeLocked(await workspace('v6'), 'cpu', 'linux-64');
  assert.deepEqual(facts.torch, { version: '2.5.1', from: 'conda', build: 'cpu' });
  assert.deepEqual(facts.needs, { why: [] });
});

test('a lock of version 7 can hold one subdir with and without CUDA, by the names of its platforms', async () => {
  const seven = await workspace('v7');
  assert.equal(describeLocked(seven, 'default', 'linux-64').torch?.build, 'cpu');
  const facts = describeLocked(seven, 'default', 'linux-64-cuda');
  assert.equal(facts.subdir, 'linux-64');
  assert.equal(facts.torch?.build, 'gpu');
  assert.equal(facts.needs.cuda, '12.4');
});

test('the hash of an environment depends on its packages alone: not on their order, the format, or other environments', async () => {
  const six = describeLocked(await workspace('v6'), 'gpu', 'linux-64').hash;
  const seven = describeLocked(await workspace('v7'), 'default', 'linux-64-cuda').hash;
  assert.equal(six, seven);
  assert.notEqual(six, describeLocked(await workspace('v6'), 'cpu', 'linux-64').hash);
});

test('wheels of PyTorch tell their CUDA by +cu121, or by the libraries of NVIDIA that come with them', async () => {
  const wheels = await workspace('pypi', 'pyproject.toml');
  const named = describeLocked(wheels, 'default', 'linux-64');
  assert.deepEqual(named.torch, { version: '2.4.1', from: 'pypi', build: 'gpu', cuda: '12.1' });
  // Declared as a dependency on the virtual package.
  assert.equal(named.needs.cuda, '12.1');
  assert.equal(named.guessed, 1);
  const plain = describeLocked(wheels, 'plain', 'linux-64');
  assert.deepEqual(plain.torch, { version: '2.8.0', from: 'pypi', build: 'gpu', cuda: '12.8' });
  assert.equal(plain.needs.capability, 7);
});

for (const [what, environment, platform, message] of [
  ['an environment', 'gup', 'linux-64', /there is no environment "gup"; did you mean "gpu"\?/],
  [
    'a platform',
    'gpu',
    'linux-46',
    /no platform of the environment "gpu" "linux-46"; did you mean "linux-64"\?/,
  ],
] as const)
  test(`${what} that is not in the lock is told with the nearest that is`, async () => {
    const six = await workspace('v6');
    assert.throws(() => describeLocked(six, environment, platform), message);
  });

for (const [what, change, message] of [
  [
    'another version',
    ['"3.12.*"', '"3.13.*"'],
    /pixi\.toml: line 7: python "3\.13\.\*" is asked for, 3\.12\.8 is locked/,
  ],
  [
    'a new package',
    ['[feature.cpu.dependencies]', '[feature.cpu.dependencies]\nscipy = "*"'],
    /line 10: scipy is asked for and not locked/,
  ],
  [
    'fewer platforms',
    ['["linux-64", "osx-arm64"]', '["osx-arm64"]'],
    /has the platforms osx-arm64 for "cpu", the lock has linux-64/,
  ],
] as const)
  test(`a lock whose manifest asks for ${what} does not match, and says why`, async (t) => {
    const { temporaryFolder } = await import('../../test/temporary-folder.ts');
    const from = path.join(folder, 'v6');
    const toml = await readFile(path.join(from, 'pixi.toml'), 'utf8');
    assert.ok(toml.includes(change[0]));
    const changed = await temporaryFolder(t, {
      'pixi.toml': toml.replace(change[0], change[1]),
      'pixi.lock': await readFile(path.join(from, 'pixi.lock'), 'utf8'),
    });
    const workspaceNow = await loadWorkspace(path.join(changed, 'pixi.toml'));
    assert.throws(() => describeLocked(workspaceNow, 'cpu', 'linux-64'), message);
  });

for (const [what, text, message] of [
  [
    'of a newer format',
    'version: 8\nenvironments: {}\n',
    /version 8 of the format is newer than what is understood \(6, 7\)/,
  ],
  ['of an older format', 'version: 4\nenvironments: {}\n', /version 4 of the format is older/],
  [
    'with a merge that was left',
    'version: 6\nenvironments: {}\npackages:\n<<<<<<< HEAD\n- conda: a\n=======\n- conda: b\n>>>>>>> other\n',
    /pixi\.lock:4: a merge left its marks here: <<<<<<< HEAD/,
  ],
  ['that is no YAML', 'version: 6\nenvironments: {\n', /pixi\.lock:\d+: this is not valid YAML/],
  ['that is a merge conflict', '<<<<<<< HEAD\nversion: 6\n=======\n', /pixi\.lock/],
  ['that is empty', '', /this is no pixi\.lock/],
] as const)
  test(`a lock ${what} is refused with its name and what to do`, () => {
    assert.throws(() => readLock(text, 'pixi.lock'), message);
  });

test('credentials in a channel are never repeated', () => {
  const url = 'https://me:secret@conda.example.org/private/noarch/thing-1.0-0.conda';
  const text = `version: 6\nenvironments:\n  default:\n    channels:\n    - url: x\n    packages:\n      linux-64:\n      - conda: ${url}\npackages:\n- conda: ${url}\n  sha256: ab\n`;
  const lock = readLock(text, 'pixi.lock');
  const [one] = lock.packagesOf([{ conda: url }]);
  assert.equal(one?.url, 'https://conda.example.org/private/noarch/thing-1.0-0.conda');
});
