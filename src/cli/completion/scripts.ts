import { shellQuote } from '../../base/shell-quote.ts';
import type { CommandWords, Word } from './command-tree.ts';

/** Makes a shell's completion script: subcommands where there are some, options after a dash, files otherwise. */
type Script = (tree: CommandWords[]) => string;

const paths = (tree: CommandWords[]): string[] => tree.map(({ at }) => at).filter((at) => at !== '');
const plain = (words: Word[]): string => shellQuote(words.map(({ word }) => word).join(' '));

const bash: Script = (tree) => `# bash completion of updraft: eval "$(updraft completion bash)"
_updraft() {
  local current="\${COMP_WORDS[COMP_CWORD]}" at= word subcommands options
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$at/$word" in ${paths(tree).join('|')}) at="$at/$word" ;; esac
  done
  case "$at" in
${tree.map((one) => `    '${one.at}') subcommands=${plain(one.subcommands)} options=${plain(one.options)} ;;`).join('\n')}
  esac
  case "$current" in -*) subcommands=$options ;; esac
  COMPREPLY=($(compgen -W "$subcommands" -- "$current"))
}
complete -o default -F _updraft updraft
`;

/** `_describe` splits at the first colon that no backslash precedes. */
const described = (words: Word[]): string =>
  words.map(({ word, about }) => shellQuote(`${word}:${about.replaceAll(':', '\\:')}`)).join(' ');

const zsh: Script = (tree) => `#compdef updraft
# zsh completion of updraft: eval "$(updraft completion zsh)"
_updraft() {
  local at= word
  local -a subcommands options
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "$at/$word" in (${paths(tree).join('|')}) at="$at/$word" ;; esac
  done
  case "$at" in
${tree.map((one) => `    ('${one.at}') subcommands=(${described(one.subcommands)}) options=(${described(one.options)}) ;;`).join('\n')}
  esac
  if [[ "$PREFIX" == -* ]]; then _describe option options
  elif (( $#subcommands )); then _describe command subcommands
  else _files
  fi
}
compdef _updraft updraft
`;

/** In fish's single quotes only the backslash and the quote itself mean something. */
const fishQuote = (text: string): string => `'${text.replaceAll(/[\\']/g, String.raw`\$&`)}'`;

const fish: Script = (tree) => `# fish completion of updraft: updraft completion fish | source
function __updraft_at
  set -l at
  for word in (commandline -opc)[2..]
    contains -- "$at/$word" ${paths(tree).join(' ')}; and set at "$at/$word"
  end
  test "$at" = "$argv[1]"
end
${tree
  .flatMap(({ at, subcommands, options }) => {
    const here = `complete -c updraft -n "__updraft_at '${at}'"`;
    return [
      ...subcommands.map(({ word, about }) => `${here} -f -a ${word} -d ${fishQuote(about)}`),
      ...options.map(({ word, about }) => `${here} -l ${word.slice(2)} -d ${fishQuote(about)}`),
    ];
  })
  .join('\n')}
`;

export const scripts = { bash, zsh, fish } satisfies Record<string, Script>;
