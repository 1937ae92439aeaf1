/** A fenced block of shell commands in a page. */
interface Block {
  /**
   * The word after `sh`: none for commands that are run; `condor` for those that are run if HTCondor is available;
   * `pool` for those of other pools, which are only planned; `tools` for those that need other programs, of which only
   * the help is run.
   */
  kind: 'run' | 'condor' | 'pool' | 'tools';
  line: number;
  text: string;
}

export function shellBlocks(markdown: string): Block[] {
  return [...markdown.matchAll(/^```sh(?: (\w+))?\n(.*?)^```$/gms)].map((match) => ({
    kind: (match[1] ?? 'run') as Block['kind'],
    line: markdown.slice(0, match.index).split('\n').length + 1,
    text: match[2] ?? '',
  }));
}

/** One script of a page's commands, which prints each before it runs. */
export function scriptOf(blocks: Block[], hasCondor: boolean): string {
  const commandsOf = ({ kind, text }: Block): string => {
    if (kind === 'run' || (kind === 'condor' && hasCondor)) return text;
    return standIn(kind === 'tools' ? 'tools' : 'pool', text);
  };
  return blocks.map((block) => `echo "== line ${block.line}" >&2\n${commandsOf(block)}`).join('\n');
}

/** Commands that only plan the run, or only print help. */
function standIn(kind: 'pool' | 'tools', text: string): string {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return lines.map((line) => (line.startsWith('updraft ') ? standInCommand(kind, line) : line)).join('\n');
}

function standInCommand(kind: 'pool' | 'tools', line: string): string {
  const [, word = '', rest = ''] = /^updraft (\S+)([^#]*)/.exec(line) ?? [];
  if (kind === 'pool' && ['run', 'submit', 'check', 'shell'].includes(word)) return `updraft plan${rest}`;
  const second = /^ ([a-z]+)/.exec(rest)?.[1];
  const hasParts = ['env', 'mini'].includes(word);
  const third = word === 'mini' ? (/^ [a-z]+ ([a-z]+)/.exec(rest)?.[1] ?? '') : '';
  return `updraft ${word} ${hasParts ? `${second ?? ''} ${third}` : ''} --help > /dev/null`;
}
