import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lockMismatches, namePlatforms } from './load-workspace.ts';
import { readLock, selectLocked } from './pixi-lock.ts';
import { readPixiManifest } from './read-manifest.ts';

const url = (name: string): string => `https://conda.example.org/noarch/${name}-1.5-0.conda`;

/** A version 7 lock: platforms as `name subdir virtual…`, with the packages of the default environment. */
function lock(platforms: Record<string, string[]>) {
  const rows = Object.keys(platforms).map((words) => words.split(' '));
  const text = [
    'version: 7',
    'platforms:',
    ...rows.flatMap(([name = '', subdir = '', ...virtual]) => [
      `- name: ${name}`,
      `  subdir: ${subdir}`,
      '  virtual-packages:',
      ...virtual.map((one) => `  - ${one}`),
    ]),
    'environments:',
    '  default:',
    '    channels: []',
    '    packages:',
    ...Object.values(platforms).flatMap((names, index) => [
      `      ${rows[index]?.[0] ?? ''}:`,
      ...names.map((name) => `      - conda: ${url(name)}`),
    ]),
    'packages:',
    ...new Set(
      Object.values(platforms)
        .flat()
        .map((name) => `- conda: ${url(name)}\n  sha256: ab`),
    ),
  ];
  return readLock(`${text.join('\n')}\n`, 'pixi.lock');
}

const manifest = (text: string) => readPixiManifest(text, 'pixi.toml');

const two = manifest(`[workspace]
platforms = ["linux-64", { name = "gpu", platform = "linux-64", cuda = "12" }]
[dependencies]
base = "*"
[target.gpu.dependencies]
fast = "*"`);
const lockedTwo = {
  'linux-64 linux-64 __glibc=2.28': ['base'],
  'p1 linux-64 __cuda=12.0 __glibc=2.28': ['base', 'fast'],
};

test('a platform called p1 in the lock gets its name from the manifest', () => {
  const named = namePlatforms(lock(lockedTwo), two);
  const { platform, packages } = selectLocked(named, 'default', 'gpu');
  assert.deepEqual([platform.name, platform.subdir, packages.length], ['gpu', 'linux-64', 2]);
  assert.deepEqual(lockMismatches(two, named, 'default', 'gpu'), []);
  assert.deepEqual(lockMismatches(two, named, 'default', 'linux-64'), []);
});

test('a platform whose CUDA comes from [system-requirements] keeps its plain name', () => {
  const asked = manifest('[workspace]\nplatforms = ["linux-64"]\n[system-requirements]\ncuda = "12"');
  const named = namePlatforms(lock({ 'p1 linux-64 __cuda=12': [] }), asked);
  assert.deepEqual(lockMismatches(asked, named, 'default', 'linux-64'), []);
});

for (const [what, dependencies] of [
  ['under a condition', 'base = "*"\nother = { version = "*", when = "__cuda" }'],
  ['for some machines', 'base = "*"\n[pypi-dependencies]\nother = { version = "*", env-markers = "x" }'],
  ['for a target', 'base = "*"\n[target.win-64.dependencies]\nother = "*"'],
] as const)
  test(`a package required ${what} is not a mismatch`, () => {
    const asked = manifest(`[workspace]\nplatforms = ["linux-64"]\n[dependencies]\n${dependencies}`);
    assert.deepEqual(
      lockMismatches(asked, lock({ 'linux-64 linux-64': ['base'] }), 'default', 'linux-64'),
      [],
    );
  });

for (const [said, name] of [
  ['platform = "linux-64", cuda = "12.0"', 'linux-64-cuda-12-0'],
  ['platform = "linux-64", cuda = { driver = "12.0", arch = "8.6" }', 'linux-64-cuda-12-0-cuda-arch-8-6'],
  ['platform = "linux-64", glibc = "2.28", __cuda = "12"', 'linux-64-cuda-12'],
  ['platform = "linux-64", glibc = "2.34", archspec = "x86_64_v3"', 'linux-64-archspec-x86-64-v3-glibc-2-34'],
  ['platform = "osx-arm64", osx = "14.0"', 'osx-arm64-macos-14-0'],
] as const)
  test(`a platform without a name gets the name that Pixi gives it: { ${said} }`, () => {
    const asked = manifest(`[workspace]\nplatforms = [{ ${said} }]`);
    assert.deepEqual(
      asked.platforms.map((one) => one.name),
      [name],
    );
  });

test('platforms that share a subdir are matched by their virtual packages', () => {
  const asked = manifest(`[workspace]
platforms = [
  { name = "new", platform = "linux-64", cuda = { driver = "12", arch = "9.0" } },
  { name = "old", platform = "linux-64", cuda = { driver = "12", arch = "8.0" } },
  { name = "fast", platform = "linux-64", archspec = "x86_64_v3" },
]`);
  const named = namePlatforms(
    lock({
      'p1 linux-64 __cuda=12 __cuda_arch=9.0 __archspec=0=x86_64': [],
      'p2 linux-64 __cuda=12 __cuda_arch=8.0 __archspec=0=x86_64': [],
      'p3 linux-64 __archspec=0=x86_64_v3': [],
    }),
    asked,
  );
  assert.deepEqual(
    named.environments.get('default')?.platforms.map(({ name }) => name),
    ['new', 'old', 'fast'],
  );
});

test('an environment may have packages and platforms of its own, without a feature', () => {
  const asked = manifest(`[workspace]
platforms = ["osx-arm64", { name = "gpu", platform = "linux-64", cuda = "12" }]
[environments.default]
platforms = ["gpu"]
dependencies = { other = ">=2" }`);
  const named = namePlatforms(lock({ 'p1 linux-64 __cuda=12': ['base'] }), asked);
  assert.deepEqual(lockMismatches(asked, named, 'default', 'gpu'), ['other is required, but not locked']);
});

test('a workspace without platforms is not taken for another file', () => {
  const workspace = '[workspace]\nchannels = []\n';
  assert.throws(() => manifest(workspace), {
    message: 'pixi.toml: [workspace] has no `platforms`',
    fix: 'pixi workspace platform add linux-64',
  });
  assert.throws(() => manifest('[package]\nname = "x"\n'), /not a Pixi manifest: no \[workspace\] with/);
});
