import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { format } from 'prettier';
import { kinds, type Retry } from '../src/fault/kinds.ts';
import { codesTable } from './codes-table.ts';
import { faultsPage } from './faults-page.ts';

/** Writes the pages that are made from tables; with `--check` only says whether they are up to date. */
const retryWords: Record<Retry, string> = {
  same: 'yes, also at the same place',
  elsewhere: 'yes, at another place',
  never: 'no: something has to change first',
};

const rows = Object.entries(kinds)
  .sort(([, a], [, b]) => a.exit - b.exit)
  .map(
    ([kind, { exit, retry, what }]) =>
      `| ${exit} | [\`${kind}\`](faults.md#${kind}) | ${what} | ${retryWords[retry]} |`,
  );

const exitCodesPage = `# Exit codes

The command line and the agent end with the same codes. 0 is success. A training's own exit status passes through the agent unchanged, unless it
lies in Updraft's range, 90 to 119; a training that ended by a signal gives 128 plus the signal's number. 85 says that a checkpoint
was saved and that the same is to be run again: trainings end so, and the agent on HTCondor ([checkpoints](checkpoints.md)).

With \`--json\` a command that fails prints one object, \`{"error": {"kind", "message", "fix", "about", "exit"}}\`, on stdout. Commands whose very answer
is that something is wrong (\`check\`, \`adopt\`, \`rehearse\`) say so with \`"ok": false\` in that answer, and nothing after it.

| code | kind | what it means | does another try help? |
| --- | --- | --- | --- |
${rows.join('\n')}
`;

const docs = path.join(path.dirname(import.meta.dirname), 'docs');
const isCheck = process.argv.includes('--check');

/** A page of which only what stands between the marks is made. */
const withTable = (name: string, table: string): string =>
  readFileSync(path.join(docs, name), 'utf8').replace(
    /(<!-- prettier-ignore-start -->\n).*(<!-- prettier-ignore-end -->)/s,
    (_, begin: string, end: string) => `${begin}\n${table}\n${end}`,
  );

const pages = {
  'exit-codes.md': exitCodesPage,
  'faults.md': faultsPage(),
  'recovery.md': withTable('recovery.md', codesTable()),
};

for (const [name, markdown] of Object.entries(pages)) {
  const file = path.join(docs, name);
  const text = await format(markdown, { parser: 'markdown', proseWrap: 'preserve' });
  if (!isCheck) writeFileSync(file, text);
  else if (readFileSync(file, 'utf8') !== text) {
    console.error(`docs/${name} is not what the tables say; run \`npm run docs\``);
    process.exitCode = 1;
  }
}
