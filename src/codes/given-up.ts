/**
 * Servers that a transfer gave up, as words of a hold: when input does not arrive, the sandbox and all that was written
 * down in it are gone, and what HTCondor quotes of the plugin is the only account there is.
 */
export function formatGivenUp(servers: readonly string[]): string {
  const counted = [...Map.groupBy(servers, (server) => server)].slice(0, maxServersNamed);
  if (counted.length === 0) return '';
  return `; gave up ${counted.map(([server, times]) => `${server} (${times.length}x)`).join(', ')}`;
}

/** More servers say nothing new, and a hold's words have their limit. */
const maxServersNamed = 8;

/** How often each server was given up, by the words of a hold. */
export function parseGivenUp(words: string): { server: string; times: number }[] {
  const [, said = ''] = /; gave up ((?:\S+ \(\d+x\)(?:, )?)+)/.exec(words) ?? [];
  return [...said.matchAll(/(\S+) \((\d+)x\)/g)].map(([, server = '', times]) => ({
    server,
    times: Number(times),
  }));
}
