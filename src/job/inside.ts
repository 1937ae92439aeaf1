/** Whether a path stays in its folder and names something in it: relative, without `..`, not the folder itself. */
export function isInside(path: string): boolean {
  if (path.startsWith('/') || path.startsWith('~') || /[\0\n\r]/.test(path)) return false;
  const steps = path.split('/').filter((step) => step !== '' && step !== '.');
  return steps.length > 0 && !steps.includes('..');
}

/** The path in its shortest form: `./a//b/` is `a/b`. */
export const plainPath = (path: string): string =>
  path
    .split('/')
    .filter((step) => step !== '' && step !== '.')
    .join('/');

/** Whether two plain paths are equal or one contains the other. */
export const overlap = (a: string, b: string): boolean =>
  `${a}/`.startsWith(`${b}/`) || `${b}/`.startsWith(`${a}/`);

/** Whether the `url` of a data source is a path on this machine, not a URL. */
export const isPath = (url: string): boolean => !/^[A-Za-z][A-Za-z0-9+.-]*:/.test(url);

/** Whether a data source is on this machine. */
export const isLocal = (url: string): boolean => isPath(url) || /^file:/i.test(url);
