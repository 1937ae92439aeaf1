import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { withPlaceholders } from '../src/job/fill-file.ts';
import { fileJsonSchema } from '../src/job/read-spec.ts';

// Writes schema/updraft.schema.json; with --check, only verifies that it is up to date.
const file = path.join(import.meta.dirname, '..', 'schema', 'updraft.schema.json');
const wanted = `${JSON.stringify(withPlaceholders(fileJsonSchema()), null, 2)}\n`;

if (process.argv.includes('--check')) {
  const present = await readFile(file, 'utf8').catch(() => '');
  if (present !== wanted) {
    console.error('schema/updraft.schema.json is out of date; run `npm run schema`');
    process.exitCode = 1;
  }
} else await writeFile(file, wanted);
