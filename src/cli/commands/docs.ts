import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Command } from 'commander';
import { readAsset } from '../../job/assets.ts';
import { counted, findProgram, nearest, printable } from '@updraft/base';
import { type Fault, usageFault } from '@updraft/account/fault';
import type { Cli } from '../cli.ts';
import { addHelp } from '../help.ts';
import { withCommandName } from '../text/command-name.ts';

/** The page that lists all others. */
const index = 'README';

export function configure(command: Command, cli: Cli): void {
  addHelp(command, undefined, [
    'updraft docs                # the list of pages',
    'updraft docs checkpoints    # how a training resumes',
    'updraft docs commands#plan  # one section',
    'updraft docs several gpus   # the sections that speak of it',
  ])
    .argument('[words...]', 'a page, a section of it (commands#plan), or words to search for', [index])
    .action(async (words: string[]) => show(cli, await readPage(words.join(' '))));
}

/** `updraft licenses`. */
export function configureLicenses(command: Command, cli: Cli): void {
  addHelp(command, undefined, [
    'updraft licenses                 # Bun, its libraries, the npm packages',
    'updraft licenses > LICENSES.txt  # to hand on with a copy of the program',
  ]).action(async () => show(cli, (await readAsset('LICENSES.txt')) ?? ''));
}

/** The text of a page, or of the section that follows a `#`. */
async function readPage(word: string): Promise<string> {
  const [, name = '', section] = /^(?:docs\/)?(.*?)(?:\.md)?(?:#(.*))?$/s.exec(word) ?? [];
  const links = (await docsFile(index)).matchAll(/\]\(([\w/-]+)\.md\)/g);
  const pages = [index, ...[...links].map(([, page = '']) => page)];
  if (!pages.includes(name)) return await search(word, pages);
  const text = await docsFile(name);
  return section === undefined ? text : sectionOf(text, section, name);
}

const docsFile = async (name: string): Promise<string> => (await readAsset(`docs/${name}.md`)) ?? '';

const maxFound = 12;

/** The sections in which all words occur, those first whose headings have most of them. */
async function search(words: string, pages: readonly string[]): Promise<string> {
  const wanted = words.toLowerCase().split(/\s+/);
  const count = (text: string): number => wanted.filter((one) => text.toLowerCase().includes(one)).length;
  const all = await Promise.all(
    pages.map(async (page) => {
      const text = await docsFile(page);
      return headingsOf(text).map(({ title, anchor, at }, index, { [index + 1]: next }) => ({
        place: `${page}#${anchor}`,
        title,
        heads: count(`${page} ${title}`),
        isFound: count(`${page} ${text.slice(at, next?.at)}`) === wanted.length,
      }));
    }),
  );
  const found = all
    .flat()
    .filter(({ isFound }) => isFound)
    .sort((a, b) => b.heads - a.heads);
  if (found.length === 0) throw unknown('page', words, pages, 'updraft docs');
  const lines = found.slice(0, maxFound).map(({ place, title }) => `  updraft docs ${place}   ${title}\n`);
  return `${counted(found.length, 'section')} with "${printable(words)}":\n${lines.join('')}`;
}

const headingsOf = (text: string) =>
  [...text.matchAll(/^(#+) (.*)$/gm)].map(({ 1: marks = '', 2: title = '', index: at }) => ({
    level: marks.length,
    title,
    anchor: title
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
    at,
  }));

/** From a heading to the next one of its level or above. */
function sectionOf(text: string, section: string, page: string): string {
  const headings = headingsOf(text);
  const first = headings.findIndex(({ anchor }) => anchor === section);
  const found = headings[first];
  if (found === undefined)
    throw unknown(
      'section',
      section,
      headings.map(({ anchor }) => anchor),
      `updraft docs ${page}`,
    );
  const next = headings.slice(first + 1).find(({ level }) => level <= found.level);
  return text.slice(found.at, next?.at);
}

function unknown(what: string, word: string, known: readonly string[], all: string): Fault {
  const meant = nearest(word, known);
  return usageFault(
    `there is no ${what} "${printable(word)}"`,
    `${meant === undefined ? '' : `did you mean ${meant}? `}${all} ` +
      (what === 'page' ? 'lists them' : 'prints the page'),
    word,
  );
}

/** On a terminal, through a pager if there is one. */
async function show(cli: Cli, text: string): Promise<void> {
  const pager = cli.outIsTerminal
    ? (cli.env['PAGER'] ?? (await findProgram(['less', 'more'], cli.env)))
    : undefined;
  if (pager === undefined || pager === '') {
    cli.out(text);
    return;
  }
  // `less` ends at once if the page fits, and leaves it on the screen.
  const child = spawn('sh', ['-c', pager], {
    stdio: ['pipe', 'inherit', 'inherit'],
    env: { LESS: 'FRX', ...cli.env },
  });
  // Left before its end: a closed pipe.
  child.stdin.on('error', () => undefined);
  child.stdin.end(withCommandName(text, cli.name));
  await once(child, 'close');
}
