/** Where links lead, by the path they lie at. */
export type Links = ReadonlyMap<string, string>;

/** Linux follows as many. */
const mostHops = 40;
/** More than any honest link needs; without a bound, links to links could take hours to follow. */
const mostSteps = 1000;

/**
 * Says what is wrong with a symbolic link, or nothing if it stays inside. Links on the way are followed, since
 * `a/..` leaves another folder than it seems to when `a` is itself a link.
 */
export function whatIsWrongWithLink(path: string, links: Links): string | undefined {
  const target = links.get(path);
  if (target === undefined) return undefined;
  if (target === '') return 'leads nowhere';
  if (target.includes('\0')) return 'has a zero byte in its target';
  const reached = path.split('/').slice(0, -1);
  const ahead = target.split('/').reverse();
  if (target.startsWith('/')) return 'leads to an absolute path';
  let hops = 0;
  let steps = 0;
  for (let part = ahead.pop(); part !== undefined; part = ahead.pop()) {
    if (++steps > mostSteps) return 'leads further than any link should';
    if (part === '' || part === '.') continue;
    if (part === '..') {
      if (reached.pop() === undefined) return 'leads out of the folder';
      continue;
    }
    reached.push(part);
    const next = links.get(reached.join('/'));
    if (next === undefined) continue;
    if (++hops > mostHops) return 'leads in a circle';
    if (next.startsWith('/')) return 'leads to an absolute path';
    reached.pop();
    ahead.push(...next.split('/').reverse());
  }
  return undefined;
}
