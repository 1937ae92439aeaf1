import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { format } from 'prettier';
import { kinds, type Retry } from '../src/fault/kinds.ts';
import { defaultPolicy } from '../src/transfer/policy.ts';
import { faultsPage } from './faults-page.ts';

/** Writes what the pages take from the code; with `--check` only says whether they are up to date. */
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
const tidy = (page: string) => format(page, { parser: 'markdown', proseWrap: 'preserve' });
const pages = new Map([
  ['exit-codes.md', await tidy(exitCodesPage)],
  ['faults.md', await tidy(faultsPage())],
]);

/** Figures in pages that are written by hand: the text before each, and what it must be. */
const figures = {
  'plugin.md': { 'after which a server is left; default: ': defaultPolicy.stallSeconds },
  'objects.md': { 'after which a server is left; default: ': defaultPolicy.stallSeconds },
};
for (const [name, byText] of Object.entries(figures)) {
  let page = readFileSync(path.join(docs, name), 'utf8');
  for (const [before, figure] of Object.entries(byText)) {
    const at = page.indexOf(before) + before.length;
    if (at < before.length) throw new Error(`docs/${name} does not say "${before}"`);
    page = page.slice(0, at) + page.slice(at).replace(/^[\d.]+/, String(figure));
  }
  pages.set(name, page);
}

const isCheck = process.argv.includes('--check');

for (const [name, text] of pages) {
  const file = path.join(docs, name);
  if (!isCheck) writeFileSync(file, text);
  else if (readFileSync(file, 'utf8') !== text) {
    console.error(`docs/${name} is not what the code says; run \`npm run docs\``);
    process.exitCode = 1;
  }
}
