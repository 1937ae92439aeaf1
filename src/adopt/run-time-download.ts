/** What a command would fetch from the network while the job runs. */
export type Download = 'packages' | 'environment' | 'system packages' | 'files' | 'code' | 'model';

const fetchers: [RegExp, Download][] = [
  [/^(python[\d.]* -m )?pip3? install\b/, 'packages'],
  [/^(conda|mamba|micromamba) (install|create|env create)\b/, 'packages'],
  [/^pixi install\b/, 'environment'],
  [/^(apt|apt-get|yum|dnf) install\b/, 'system packages'],
  [/^(wget|curl|aria2c)\b/, 'files'],
  [/^git clone\b/, 'code'],
  [/^(huggingface-cli|hf) download\b/, 'model'],
];

/** What a simple command of the shell downloads; undefined when it downloads nothing. */
export function runTimeDownload(words: readonly string[]): Download | undefined {
  const text = words.join(' ');
  if (/--no-index|file:\/\//.test(text)) return undefined;
  return fetchers.find(([pattern]) => pattern.test(text))?.[1];
}

/** The start of a command, for messages: what stands behind a `?` may be a secret. */
export const shownCommand = (words: readonly string[]): string =>
  words.slice(0, 3).join(' ').replace(/\?.*/, '?…');
