import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { describeEnvironment } from './describe-environment.ts';
import { describeLocked, loadWorkspace, type Workspace } from './load-workspace.ts';
import { readLock, selectLocked } from './pixi-lock.ts';
import { refuseSources } from './pixi-tools.ts';

const folder = path.resolve(import.meta.dirname, '../../test/environment/workspaces');
const workspace = (name: string, manifest = 'pixi.toml'): Promise<Workspace> =>
  loadWorkspace(path.join(folder, name, manifest));

test('a version 6 lock shows Python, PyTorch and its build, CUDA, size and the GPU it needs', async () => {
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
  // The manifest requires more than the packages do (`__cuda >=12`).
  assert.deepEqual(needs, {
    cuda: '12.4',
    capability: 5,
    why: ['driver for CUDA 12.4: the manifest declares it', 'capability 5.0: CUDA 12.6'],
  });
});

test('a CPU build is recognized by its build string, and needs no GPU', async () => {
  const facts = describeLocked(await workspace('v6'), 'cpu', 'linux-64');
  assert.deepEqual(facts.torch, { version: '2.5.1', from: 'conda', build: 'cpu' });
  assert.deepEqual(facts.needs, { why: [] });
});

test('a version 7 lock can have one subdir with and without CUDA, by platform name', async () => {
  const seven = await workspace('v7');
  assert.equal(describeLocked(seven, 'default', 'linux-64').torch?.build, 'cpu');
  const facts = describeLocked(seven, 'default', 'linux-64-cuda');
  assert.equal(facts.subdir, 'linux-64');
  assert.equal(facts.torch?.build, 'gpu');
  assert.equal(facts.needs.cuda, '12.4');
});

test('the hash of an environment depends only on its packages: not on their order, the format, or other environments', async () => {
  const six = describeLocked(await workspace('v6'), 'gpu', 'linux-64').hash;
  const seven = describeLocked(await workspace('v7'), 'default', 'linux-64-cuda').hash;
  assert.equal(six, seven);
  assert.notEqual(six, describeLocked(await workspace('v6'), 'cpu', 'linux-64').hash);
});

test('the CUDA of a PyTorch wheel is read from +cu121, or from the NVIDIA libraries beside it', async () => {
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

test('a wheel of PyTorch needs a driver for its own CUDA, whatever conda has and the manifest declares', async () => {
  const { lock } = await workspace('pypi', 'pyproject.toml');
  const { packages, ...rest } = selectLocked(lock, 'plain', 'linux-64');
  const newer = packages.map((one) =>
    one.name === 'nvidia-cuda-runtime-cu12'
      ? { ...one, name: 'nvidia-cuda-runtime', version: '13.2.86' }
      : one,
  );
  const [python] = packages.filter(({ name }) => name === 'python');
  assert.ok(python);
  const conda = { ...python, name: 'cuda-version', version: '12.9', constrains: ['__cuda >=12'] };
  const facts = describeEnvironment({ ...rest, packages: [...newer, conda] }, '12');
  assert.equal(facts.cuda, '13.2');
  assert.deepEqual(facts.needs, {
    cuda: '13.0',
    capability: 7.5,
    why: ['driver for CUDA 13.0: its libraries are built for CUDA 13.2', 'capability 7.5: CUDA 13.2'],
  });
});

for (const [what, environment, platform, message] of [
  ['an environment', 'gup', 'linux-64', /there is no environment "gup"; did you mean "gpu"\?/],
  [
    'a platform',
    'gpu',
    'linux-46',
    /no platform "linux-46" for the environment "gpu"; did you mean "linux-64"\?/,
  ],
] as const)
  test(`${what} that is not in the lock is reported with the closest that is`, async () => {
    const six = await workspace('v6');
    assert.throws(() => describeLocked(six, environment, platform), message);
  });

for (const [what, change, message] of [
  [
    'a new package',
    ['[feature.cpu.dependencies]', '[feature.cpu.dependencies]\nscipy = "*"'],
    /pixi\.toml: scipy is required, but not locked/,
  ],
  [
    'fewer platforms',
    ['["linux-64", "osx-arm64"]', '["osx-arm64"]'],
    /has the platforms osx-arm64 for "cpu", but the lock has linux-64/,
  ],
] as const)
  test(`a lock whose manifest requires ${what} does not match, and the message says why`, async (t) => {
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
    /format version 8 is newer than the supported ones \(5, 6, 7\)/,
  ],
  ['of an older format', 'version: 4\nenvironments: {}\n', /format version 4 is older/],
  [
    'with an unresolved merge conflict',
    'version: 6\nenvironments: {}\npackages:\n<<<<<<< HEAD\n- conda: a\n=======\n- conda: b\n>>>>>>> other\n',
    /pixi\.lock:4: unresolved merge conflict: <<<<<<< HEAD/,
  ],
  ['that is not YAML', 'version: 6\nenvironments: {\n', /pixi\.lock:\d+: not valid YAML/],
  ['that begins with a merge conflict', '<<<<<<< HEAD\nversion: 6\n=======\n', /pixi\.lock/],
  ['that is empty', '', /not a valid pixi\.lock/],
] as const)
  test(`a lock ${what} is refused with its file name`, () => {
    assert.throws(() => readLock(text, 'pixi.lock'), message);
  });

const oneUsed = (used: string, packages: string, version = 6): string =>
  `version: ${version}\nenvironments:\n  default:\n    channels:\n    - url: x\n    packages:\n      linux-64:\n${used}${packages}`;

for (const indent of ['', '  '])
  test(`a version 5 lock, whose packages begin with their kind, is read as version 6 (indented by ${indent.length})`, () => {
    const url = 'https://conda.example.org/linux-64/thing-1.0-h1_0.conda';
    const used = `      - conda: ${url}\n      - pypi: https://pypi.example.org/Own_code-2.0-py3-none-any.whl\n      - pypi: ./mine\n`;
    const five = [
      '- kind: conda\n  name: thing\n  version: "1.0"\n  build: h1_0\n  subdir: linux-64',
      `  url: ${url}\n  sha256: ab\n  size: 12`,
      '- kind: pypi\n  name: own-code\n  version: "2.0"\n  url: https://pypi.example.org/Own_code-2.0-py3-none-any.whl\n  sha256: cd',
      '- kind: pypi\n  name: mine\n  version: 0.1.0\n  path: ./mine\n  editable: true\n',
    ];
    const listed = five.join('\n').replaceAll(/^(?=.)/gm, indent);
    const lock = readLock(oneUsed(used, `packages:\n${listed}`, 5), 'pixi.lock');
    const found = selectLocked(lock, 'default', 'linux-64').packages;
    assert.deepEqual(
      found.map(({ kind, name, version, sha256, bytes }) => [kind, name, version, sha256, bytes]),
      [
        ['conda', 'thing', '1.0', 'ab', 12],
        ['pypi', 'own-code', '2.0', 'cd', undefined],
        ['pypi', 'mine', '0.1.0', undefined, undefined],
      ],
    );
  });

for (const place of ['.', './recipes/mine', 'git+https://code.example.org/mine?rev=main#1a2b3c4d'])
  test(`in a version 6 lock a conda package from ${place} is one that is built, and a pack refuses it`, () => {
    const listed = `packages:\n- conda: ${place}\n  name: mine\n  version: 0.1.0\n  build: h1_0\n  subdir: linux-64\n`;
    const lock = readLock(oneUsed(`      - conda: ${place}\n`, listed), 'pixi.lock');
    const set = selectLocked(lock, 'default', 'linux-64');
    assert.deepEqual(
      set.packages.map(({ kind, name }) => [kind, name]),
      [['source', 'mine']],
    );
    assert.throws(() => {
      refuseSources(set, 'pack', 'pixi.lock');
    }, /mine \(.*\) of "default" is built from source/);
  });

test("credentials in a channel's URL are dropped", () => {
  const url = 'https://me:secret@conda.example.org/private/noarch/thing-1.0-0.conda';
  const text = oneUsed(`      - conda: ${url}\n`, `packages:\n- conda: ${url}\n  sha256: ab\n`);
  const lock = readLock(text, 'pixi.lock');
  const [one] = lock.packagesOf([{ conda: url }]);
  assert.equal(one?.url, 'https://conda.example.org/private/noarch/thing-1.0-0.conda');
});
