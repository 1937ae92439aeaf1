import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { format } from 'prettier';
import type { RetryRule } from '@updraft/base';
import type { KindInfo } from '@updraft/base';
import { agentExits, type FaultKind, faultWords, kinds } from '@updraft/account/fault';
import { defaultTransferLimits } from '@updraft/pelican/limits';
import { ruleTable } from '../src/check/check-facts.ts';
import { poolJsonSchema } from '../src/job/pool-file.ts';
import { codesTable } from './codes-table.ts';
import { faultsPage } from './faults-page.ts';
import { jobFilePage, keyRows } from './job-file-page.ts';

/** Writes the generated parts of the pages; with `--check`, only verifies that they are up to date. */
const retryText: Record<RetryRule, string> = {
  same: 'yes, also in the same place',
  elsewhere: 'yes, in another place',
  more: 'yes, with more of it',
  never: 'no, something has to change first',
};

const rows = (Object.entries(kinds) as [FaultKind, KindInfo][])
  .sort(([, a], [, b]) => a.exit - b.exit)
  .map(
    ([kind, { exit, retry }]) =>
      `| ${exit} | [\`${kind}\`](faults.md#${kind}) | ${faultWords[kind][0]} | ${retryText[retry]} |`,
  );

const exitCodesPage = `# Exit codes

The command line and the agent use the same codes. 0 is success.

- A training's own exit code passes through the agent unchanged, unless it is in Updraft's range, ${agentExits.from} to ${agentExits.to}.
- A training that dies by its own signal gives 128 plus the signal's number; one that is killed from outside gives 86 or 87.
- 85 means that a checkpoint was saved and the same job must run again: trainings use it, and the agent on HTCondor ([checkpoints](checkpoints.md)).

With \`--json\` a command that fails prints one object, \`{"error": {"kind", "message", "fix", "about", "exit"}}\`, on stdout. Commands whose very answer
is that something is wrong (\`check\`, \`adopt\`, \`rehearse\`) say so with \`"ok": false\` in that answer, and nothing after it.

| code | kind | what it means | does another try help? |
| --- | --- | --- | --- |
${rows.join('\n')}
`;

const docs = path.join(path.dirname(import.meta.dirname), 'docs');
const read = (name: string): string => readFileSync(path.join(docs, name), 'utf8');
const tidy = (page: string) => format(page, { parser: 'markdown', proseWrap: 'preserve' });

/** A page of which only the part between the marks is generated. */
const withTable = (name: string, table: string): string =>
  read(name).replace(
    /(<!-- prettier-ignore-start -->\n).*(<!-- prettier-ignore-end -->)/s,
    (_, begin: string, end: string) => `${begin}\n${table}\n${end}`,
  );

/** The rules of `check`, a table for each family. */
function rulesTables(): string {
  const families = [...Map.groupBy(ruleTable, ({ family }) => family)];
  return families
    .map(([family, rules]) =>
      [
        `### ${family.charAt(0).toUpperCase()}${family.slice(1)}`,
        '',
        '| rule | level | what it says |',
        '| --- | --- | --- |',
        ...rules.map(({ name, level, about }) => `| \`${name}\` | ${level} | ${about} |`),
        '',
      ].join('\n'),
    )
    .join('\n');
}

/** A page of which only the number after these words is generated. */
function withFigure(name: string, words: string, figure: number): string {
  const [before, after] = read(name).split(words, 2);
  if (before === undefined || after === undefined) throw new Error(`docs/${name} does not say "${words}"`);
  return before + words + after.replace(/^[\d.]+/, String(figure));
}

const left = 'after which a server is left; default: ';
const pages = {
  'exit-codes.md': await tidy(exitCodesPage),
  'faults.md': await tidy(faultsPage()),
  'job-file.md': await tidy(jobFilePage()),
  'check.md': withTable('check.md', rulesTables()),
  'recovery.md': await tidy(withTable('recovery.md', codesTable())),
  'pool-rules.md': await tidy(
    withTable(
      'pool-rules.md',
      [
        '| key | type | default | what it is |',
        '| --- | --- | --- | --- |',
        ...keyRows(poolJsonSchema()),
      ].join('\n'),
    ),
  ),
  'plugin.md': withFigure('plugin.md', left, defaultTransferLimits.stallSeconds),
  'objects.md': withFigure('objects.md', left, defaultTransferLimits.stallSeconds),
};
const isCheck = process.argv.includes('--check');

for (const [name, text] of Object.entries(pages)) {
  if (!isCheck) writeFileSync(path.join(docs, name), text);
  else if (read(name) !== text) {
    console.error(`docs/${name} is out of date; run \`npm run docs\``);
    process.exitCode = 1;
  }
}
