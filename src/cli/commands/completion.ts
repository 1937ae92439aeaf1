import { Argument, type Command } from 'commander';
import { shellQuote, given } from '@updraft/base';
import type { Cli } from '../cli.ts';
import { addHelp } from '../help.ts';

export function configure(command: Command, cli: Cli): void {
  addHelp(command, undefined, [
    'eval "$(updraft completion bash)"  # in ~/.bashrc; zsh: ~/.zshrc',
    'updraft completion fish | source   # in ~/.config/fish/config.fish',
  ])
    .addArgument(new Argument('<shell>', 'your shell').choices(Object.keys(scripts)))
    .action(async (shell: keyof typeof scripts) => {
      cli.out(scripts[shell](commandTree(await cli.program())));
    });
}

/** What may follow a command: its subcommands and options, each with a description. */
export interface CommandWords {
  /** As in `/mini/pool`; empty for the program itself. */
  at: string;
  subcommands: Word[];
  options: Word[];
  /** It takes a run, and perhaps its jobs. */
  isOfRuns: boolean;
}

export interface Word {
  word: string;
  about: string;
}

/** Every command, from the definitions that parse them. */
const commandTree = (program: Command): CommandWords[] => wordsOf(program, '');

function wordsOf(command: Command, at: string): CommandWords[] {
  const help = { word: '--help', about: 'show this help' };
  const options = command.options.flatMap(({ long, description, hidden }) =>
    long === undefined || hidden ? [] : [{ word: long, about: description }],
  );
  const typed = command.createHelp().visibleCommands(command);
  const subcommands = typed.map((one) => ({ word: one.name(), about: one.summary() }));
  return [
    {
      at,
      subcommands,
      options: [...options, help],
      isOfRuns: command.registeredArguments[0]?.name().startsWith('run') === true,
    },
    ...typed.flatMap((one) => wordsOf(one, `${at}/${one.name()}`)),
  ];
}

/** Writes a shell's completion script: subcommands where there are some, options after a dash, files otherwise. */
type Script = (tree: CommandWords[]) => string;

const paths = (tree: CommandWords[]): string[] => tree.map(({ at }) => at).filter((at) => at !== '');
const plain = (words: Word[]): string => shellQuote(words.map(({ word }) => word).join(' '));
/** The jobs of the run that is named already, or else the runs of this folder. */
const names = '$(ls "runs/$run/jobs" 2>/dev/null || ls runs 2>/dev/null)';
const bashCase = ({ at, subcommands, options, isOfRuns }: CommandWords): string =>
  `    '${at}') subcommands=${isOfRuns ? names : plain(subcommands)} options=${plain(options)} ;;`;

const bash: Script = (tree) => `# bash completion of updraft: eval "$(updraft completion bash)"
_updraft() {
  local current="\${COMP_WORDS[COMP_CWORD]}" at= run= word subcommands options
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$at/$word" in ${paths(tree).join('|')}) at="$at/$word" ;; esac
    [ -d "runs/$word/jobs" ] && run=$word
  done
  case "$at" in
${tree.map(bashCase).join('\n')}
  esac
  case "$current" in -*) subcommands=$options ;; esac
  COMPREPLY=($(compgen -W "$subcommands" -- "$current"))
}
complete -o default -F _updraft updraft
`;

/** `_describe` splits at the first colon that no backslash precedes. */
const described = (words: Word[]): string =>
  words.map(({ word, about }) => shellQuote(`${word}:${about.replaceAll(':', '\\:')}`)).join(' ');
const zshCase = ({ at, subcommands, options, isOfRuns }: CommandWords): string =>
  `    ('${at}') subcommands=(${isOfRuns ? names : described(subcommands)}) options=(${described(options)}) ;;`;

const zsh: Script = (tree) => `#compdef updraft
# zsh completion of updraft: eval "$(updraft completion zsh)"
_updraft() {
  local at= run= word
  local -a subcommands options
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "$at/$word" in (${paths(tree).join('|')}) at="$at/$word" ;; esac
    [[ -d "runs/$word/jobs" ]] && run=$word
  done
  case "$at" in
${tree.map(zshCase).join('\n')}
  esac
  if [[ "$PREFIX" == -* ]]; then _describe option options
  elif (( $#subcommands )); then _describe command subcommands
  else _files
  fi
}
compdef _updraft updraft
`;

/** In fish's single quotes only the backslash and the quote itself are special. */
const fishQuote = (text: string): string => `'${text.replaceAll(/[\\']/g, String.raw`\$&`)}'`;

const fish: Script = (tree) => `# fish completion of updraft: updraft completion fish | source
function __updraft_at
  set -l at
  for word in (commandline -opc)[2..]
    contains -- "$at/$word" ${paths(tree).join(' ')}; and set at "$at/$word"
  end
  test "$at" = "$argv[1]"
end
function __updraft_names
  for word in (commandline -opc)[2..]
    test -d "runs/$word/jobs"; and ls "runs/$word/jobs"; and return
  end
  ls runs 2>/dev/null
end
${tree
  .flatMap(({ at, subcommands, options, isOfRuns }) => {
    const here = `complete -c updraft -n "__updraft_at '${at}'"`;
    return given(
      isOfRuns && `${here} -a '(__updraft_names)'`,
      ...subcommands.map(({ word, about }) => `${here} -f -a ${word} -d ${fishQuote(about)}`),
      ...options.map(({ word, about }) => `${here} -l ${word.slice(2)} -d ${fishQuote(about)}`),
    );
  })
  .join('\n')}
`;

const scripts = { bash, zsh, fish } satisfies Record<string, Script>;
