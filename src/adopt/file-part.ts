/**
 * The parts of a file name that `$F<letters>(name)` keeps: p path, d parent folder (dd two of them), n name, x
 * extension, f full path first, b bare (no trailing slash, no leading dot), q quoted, a with single quotes.
 */
export function filePart(letters: string, name: string, cwd: string): string {
  const flags = letters.toLowerCase();
  const file = fullName(/^"(.*)"$/s.exec(name.trim())?.[1] ?? name, flags, cwd);
  const quote = !flags.includes('q') ? '' : flags.includes('a') ? "'" : '"';
  return quote + selectPart(file, flags) + quote;
}

function fullName(name: string, flags: string, cwd: string): string {
  const slashes = flags.includes('u') ? name.replaceAll('\\', '/') : name;
  if (!flags.includes('f') || slashes.startsWith('/')) return slashes;
  return `${cwd.replace(/\/$/, '')}/${slashes.replace(/^\.\/(?=.)/, '')}`;
}

function selectPart(file: string, flags: string): string {
  const base = file.lastIndexOf('/') + 1;
  const dot = file.lastIndexOf('.');
  const extension = dot > base ? dot : file.length;
  const [wantsName, wantsExtension] = [flags.includes('n'), flags.includes('x')];
  const folders = folderPart(file, base, flags, !wantsName && !wantsExtension);
  if (folders === undefined && !wantsName && !wantsExtension) return file;
  if (!wantsName && wantsExtension && (folders ?? '') === '')
    return flags.includes('b') ? file.slice(extension + 1) : file.slice(extension);
  const end = wantsExtension ? file.length : wantsName ? extension : base;
  return (folders ?? '') + file.slice(base, end);
}

/** Undefined when no letter asks for folders. */
function folderPart(file: string, base: number, flags: string, alone: boolean): string | undefined {
  const depth = flags.length - flags.replaceAll('d', '').length;
  if (!flags.includes('p') && depth === 0) return undefined;
  const whole = file.slice(0, base);
  const part = flags.includes('p') ? whole : lastFolders(whole, depth);
  return alone && flags.includes('b') ? part.replace(/\/$/, '') : part;
}

function lastFolders(folder: string, depth: number): string {
  const names = folder.split('/').slice(0, -1);
  if (names.length === 0) return '';
  return names.length <= depth ? folder : `${names.slice(-depth).join('/')}/`;
}
