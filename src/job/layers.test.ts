import assert from 'node:assert/strict';
import { test } from 'node:test';
import { layerOfSetting } from './layers.ts';
import { checkSpec } from './read-spec.ts';

const file = `name = "a"
[train]
command = "python3 train.py"
outputs = ["model.pt"]
[resources]
gpus = 1
cpus = 4
[data.train]
url = "osdf:///a/b.tar"
expect = { files = 10, bytes = 100 }
`;

const read = (...settings: string[]) => checkSpec(file, 'updraft.toml', settings.map(layerOfSetting));

test('a setting overrides the file, and other values stay', () => {
  const reading = read('resources.gpus=0', 'data.train.expect.files=3', 'run.pool=condor');
  assert.ok('spec' in reading, JSON.stringify(reading));
  const { resources, data, run } = reading.spec;
  assert.deepEqual([resources.gpus, resources.cpus, run.pool], [0, 4, 'condor']);
  assert.deepEqual(data[0]?.expect, { files: 3, bytes: 100 });
});

test('a value that is not TOML is a string, with all its quotes, equal signs and spaces', () => {
  const reading = read(`train.command=sh -c 'x="1" y=2'`);
  assert.ok('spec' in reading, JSON.stringify(reading));
  assert.equal(reading.spec.train.command, `sh -c 'x="1" y=2'`);
});

test('a second file overrides the first, and settings override both', () => {
  const second = { file: 'small.toml', text: '[resources]\ncpus = 1\nmemory = "1 GB"\n' };
  const reading = checkSpec(file, 'updraft.toml', [second, layerOfSetting('resources.cpus=2')]);
  assert.ok('spec' in reading, JSON.stringify(reading));
  assert.deepEqual([reading.spec.resources.cpus, reading.spec.resources.memoryBytes], [2, 1e9]);
});

test('a second file can remove keys of the first', () => {
  const second = { file: 'small.toml', text: 'without = ["data.train", "resources.gpus"]\n' };
  const reading = checkSpec(file, 'updraft.toml', [second]);
  assert.ok('spec' in reading, JSON.stringify(reading));
  assert.deepEqual([reading.spec.data, reading.spec.resources.gpus], [[], 0]);
  const wrong = checkSpec(file, 'updraft.toml', [{ file: 'small.toml', text: 'without = ["data.test"]\n' }]);
  assert.ok('problems' in wrong);
  assert.match(wrong.problems[0].message, /updraft\.toml has no "data\.test"/);
});

test('a problem names the file or option it comes from', () => {
  const second = { file: 'small.toml', text: '[resources]\n\ncpus = "two"\n' };
  const reading = checkSpec(file, 'updraft.toml', [second, layerOfSetting('run.jobz=2')]);
  assert.ok('problems' in reading);
  assert.deepEqual(reading.problems.map((problem) => [problem.file, problem.key, problem.line]).toSorted(), [
    ['--set run.jobz=2', 'run.jobz', 1],
    ['small.toml', 'resources.cpus', 3],
  ]);
});

for (const wrong of ['', 'jobs', '=3', 'a b=3'])
  test(`the setting "${wrong}" is refused, and named`, () => {
    const reading = read(wrong);
    assert.ok('problems' in reading);
    assert.equal(reading.problems[0].file, `--set ${wrong}`);
  });
