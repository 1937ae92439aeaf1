/**
 * Servers that a transfer gave up, for the reason of a hold: when input does not arrive, the sandbox is removed with
 * every log in it, and what HTCondor quotes of the plugin is all that remains.
 */
export function formatGivenUp(servers: readonly string[]): string {
  const counted = [...Map.groupBy(servers, (server) => server)].slice(0, maxServersNamed);
  if (counted.length === 0) return '';
  return `; gave up ${counted.map(([server, times]) => `${server} (${times.length}x)`).join(', ')}`;
}

/** HTCondor limits the length of a reason. */
const maxServersNamed = 8;

/** How often each server was given up, according to the reason of a hold. */
export function parseGivenUp(words: string): { server: string; times: number }[] {
  const [, said = ''] = /; gave up ((?:\S+ \(\d+x\)(?:, )?)+)/.exec(words) ?? [];
  return [...said.matchAll(/(\S+) \((\d+)x\)/g)].map(([, server = '', times]) => ({
    server,
    times: Number(times),
  }));
}
