import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { root } from './gate.ts';

/**
 * Counts words that must not come back in names, messages, comments and pages.
 *
 *     node scripts/check-words.ts [--list] [PATHS]
 *
 * `--list` prints every place as file:line. Names are read as words: `giveBack` is "give back".
 */

/** How many banned words the repository may contain. */
const budget = 0;

interface Banned {
  /** Matched against a line in lower case, with `camelCase` and `snake_case` split into words. */
  word: RegExp;
  use: string;
}

const banned: Record<string, Banned> = {
  tell: { word: /\b(tell|tells|telling)\b/g, use: 'print, describe, report, record, say' },
  told: { word: /\b(told|untold)\b/g, use: 'printed, reported, recorded; unknown' },
  mend: { word: /\b(mend|mends|mended|mending)\b/g, use: 'fix, repair' },
  anew: { word: /\banew\b/g, use: 'again, start fresh' },
  'give back': { word: /\b(give|gives|gave|given|giving) back\b/g, use: 'return, publish' },
  'take up': { word: /\b(take|takes|took|taken|taking) up\b(?! to\b)/g, use: 'resume, start' },
  'look every': { word: /\blook every\b/g, use: 'pollInterval' },
  patience: { word: /\bpatience\b/g, use: 'timeout' },
  heed: { word: /\bheed(s|ed|ing)?\b/g, use: 'handle, obey' },
  deaf: { word: /\bdeaf\b/g, use: 'ignored' },
  reckon: { word: /\breckon(s|ed|ing)?\b/g, use: 'estimate, compute' },
  'so many': { word: /\bso (many|much)\b(?! (that|as)\b)/g, use: 'nth, the number itself' },
  'without a word': { word: /\bwithout a word\b/g, use: 'exited without reporting' },
  'in this machine': { word: /\bin this machine\b(?!')/g, use: 'on this machine' },
  customs: { word: /\bcustoms\b/g, use: 'limits, rules' },
  'nobody was named': { word: /\bnobody (is|was|has been) named\b/g, use: 'the director named no server' },
  'exit status': { word: /\bexit status\b/g, use: "exit code, HTCondor's word" },
  truest: { word: /\btruest\b/g, use: 'most informative' },
  'server words': { word: /\bserver('s)? words\b/g, use: 'error body' },
  'bring the environment': {
    word: /\bbring(s|ing)? (the|its|an) environment\b/g,
    use: 'set up the environment',
  },
  'is no folder': { word: /\bis no (folder|file|directory)\b/g, use: 'is not a directory' },
  'counts instead': { word: /\bcounts? instead\b/g, use: 'override' },
  'stands as it does': { word: /\bstands? as (it does|they do)\b/g, use: 'current state' },
  'of what … need': { word: /\b(has|have) of what \w+ needs?\b/g, use: 'what runs need' },
  'first wait': { word: /\b(the|a|its|const|let) first wait\b/g, use: 'initial backoff' },
  'server(s)': { word: /(\}|\d|\b(the|its|all|no|of)) [a-z]+\(s\)/g, use: 'counted(): 1 server, 3 servers' },
  '1 servers': { word: /\b(an?|its|the|only|(?<!\d )of) 1 [a-z]+s\b/g, use: 'counted(): 1 server' },
};

/** Matched against the unchanged line. */
const bannedNames: Record<string, Banned> = {
  mostX: { word: /\b(most|least)[A-Z]\w*/g, use: 'max, min' },
  immediateRetries: { word: /\batOnce\w*/g, use: 'immediate, concurrent' },
  'Fix …': { word: /\bfix: ['"`][A-Z][a-z]+ [a-z]/g, use: 'a fix that starts with a small letter' },
  World: { word: /\b(world|\w*World)\b(?=\W)/g, use: 'host, context' },
};

/** Calls that must not come back, matched against the whole file. */
const bannedCalls: Record<string, Banned> = {
  'readdir with recursive': {
    word: /\b(readdir|opendir)(Sync)?\((?:[^()]|\([^()]*\))*\brecursive\b/g,
    use: 'walkTree or walkFiles of packages/base/walk-tree.ts: Bun follows links to folders here, Node some of them',
  },
};

/** Facts that may not be read out of our own sentences: a literal with a word, searched in what we wrote. */
const sentences = String.raw`\b(?:message|because|title|titles|advice|fix|sentence|headline|why)\b`;
const search = String.raw`\??\.(?:includes|startsWith|endsWith|match|search|replace|replaceAll|split|indexOf)\(\s*`;
const literal = String.raw`(?:'[^'\n]*[A-Za-z]{3}|"[^"\n]*[A-Za-z]{3}|/(?:[^/\\\n]|\\.)*(?<!\\)[A-Za-z]{3}(?:[^/\\\n]|\\.)*/)`;
const ownProse = new RegExp(
  `${sentences}${search}${literal}|${literal}[dgimsuvy]*\\.(?:test|exec)\\(\\s*[\\w.?]*${sentences}`,
  'g',
);

/** What these read is another program's, or crosses one: our hold reason comes back through HTCondor. */
const othersWords: Record<string, string> = {
  'packages/account/codes/given-up.ts': 'our own message, through a hold reason of HTCondor',
  'src/agent/training/failure-advice.ts': "what the training's Python printed",
  'src/cli/commands/env.ts': "Pixi's words",
  'src/job/read-toml.ts': "the TOML parser's words",
  'src/pool/condor/tools/ask-slots.ts': "HTCondor's words",
};

/** Correct uses: output of another program, an English idiom, a term of the field. */
const allowed: readonly RegExp[] = [
  /hello,? world/gi,
  /world[-_ ]size/gi,
  /state of the world/g,
  /\bmost(Wasteful|Informative)/gi,
  /\.tell\(\)/g,
  // A key of `status --json`, and keys of earlier versions' files.
  /\bisUntold\b|\b(firstWait|mostWait|atOnce)\b/g,
];

/** Recorded data and third-party files. */
const skipped =
  /^(test\/(eventlogs|histories|replays|archives)\/|package-lock\.json$|LICENSE$|scripts\/check-words\.ts$)/;
const readable = /\.(ts|mjs|md|toml|yaml|py|css|json|sh|sub|cff)$/;

const args = process.argv.slice(2);
const isListing = args.includes('--list');
const paths = args.filter((arg) => !arg.startsWith('--'));
const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '--', ...paths], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter((file) => readable.test(file) && !skipped.test(file));

const asWords = (line: string): string =>
  line
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .replaceAll('_', ' ')
    .toLowerCase();

const found = new Map<string, string[]>();

function note(rules: Record<string, Banned>, text: string, place: string): void {
  for (const [name, { word }] of Object.entries(rules))
    for (const [match] of text.matchAll(word))
      found.set(name, [...(found.get(name) ?? []), `${place} ${match}`]);
}

/** Whether a file has one of the words somewhere: most have none, and need not be read line by line. */
function isSuspect(whole: string): boolean {
  const words = asWords(whole);
  return (
    Object.values(banned).some(({ word }) => words.search(word) !== -1) ||
    Object.values(bannedNames).some(({ word }) => whole.search(word) !== -1)
  );
}

for (const file of files) {
  const whole = readFileSync(path.join(root, file), 'utf8');
  if (file.endsWith('.ts')) note(bannedCalls, whole, file);
  if (/^(?:src|packages)\/.*(?<!\.test)\.ts$/.test(file) && othersWords[file] === undefined)
    note({ 'own prose': { word: ownProse, use: '' } }, whole, file);
  if (!isSuspect(whole)) continue;
  for (const [index, line] of whole.split('\n').entries()) {
    const text = allowed.reduce((rest, use) => rest.replace(use, ''), line);
    note(banned, asWords(text), `${file}:${index + 1}`);
    note(bannedNames, text, `${file}:${index + 1}`);
  }
}

const counts = [...found].sort(([, a], [, b]) => b.length - a.length);
for (const [name, places] of counts) {
  const { use = 'a fact, until it is printed' } =
    banned[name] ?? bannedNames[name] ?? bannedCalls[name] ?? {};
  console.log(`${String(places.length).padStart(5)}  ${name} (use: ${use})`);
  if (isListing) for (const place of places) console.log(`         ${place}`);
}
const total = counts.reduce((sum, [, places]) => sum + places.length, 0);
console.log(`${String(total).padStart(5)}  in ${files.length} files`);
if (total > budget) process.exitCode = 1;
