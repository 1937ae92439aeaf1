/** Whether a path is the prefix or below it, by whole components. The empty prefix, the root, covers all. */
export function isUnder(path: string, prefix: string): boolean {
  return path === prefix || path.startsWith(`${prefix}/`);
}
