import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import packageJson from '../../package.json' with { type: 'json' };
import { archs } from '../../scripts/bun.ts';

const project = path.resolve(import.meta.dirname, '../..');

interface Recipe {
  schema_version: number;
  context: { version: string };
  package: { name: string; version: string };
  source: { path?: string; then?: { path: string; file_name: string } }[];
  build: { script: string; dynamic_linking: { binary_relocation: boolean } };
  requirements: { run: string[] };
  tests: { script: string[] }[];
  about: { license: string; license_file: string[] };
}

test('the conda recipe packages the executables of this version, unchanged', () => {
  const recipe = parse(readFileSync(path.join(project, 'packaging/recipe.yaml'), 'utf8')) as Recipe;
  assert.equal(recipe.schema_version, 1);
  assert.equal(recipe.context.version, packageJson.version);
  assert.deepEqual(recipe.package, { name: packageJson.name, version: '${{ version }}' });
  const sources = recipe.source.map((source) => path.basename(source.then?.path ?? source.path ?? ''));
  assert.deepEqual(sources, [...recipe.about.license_file, ...archs.map((arch) => `updraft-linux-${arch}`)]);
  assert.match(recipe.build.script, /"\$PREFIX\/bin\/updraft"$/);
  assert.equal(recipe.build.dynamic_linking.binary_relocation, false);
  assert.deepEqual(recipe.requirements.run, ['__glibc >=2.28']);
  assert.equal(recipe.about.license, packageJson.license);
  assert.ok(recipe.tests[0]?.script.includes('updraft --version'));
});
