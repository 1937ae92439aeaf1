import type { ObjectServer } from './located.ts';

/** What a server said about an object: a status, or nothing where it could not be reached. */
export interface ServerAnswer {
  server: ObjectServer;
  status: number | undefined;
}

/**
 * Whether an object is missing for good. Caches remember a 404 for a while after the object has come, and a new one
 * may know only half of the federation: one server's 404 is final only if that server is the origin, or if every
 * server named for the object says the same.
 */
export function isFinalMissing(servers: ObjectServer[], answers: ServerAnswer[]): boolean {
  const missing = answers.filter(({ status }) => status === 404 || status === 410);
  if (missing.some(({ server }) => server.kind !== 'cache')) return true;
  const sayingSo = new Set(missing.map(({ server }) => server.url));
  return servers.length > 0 && servers.every(({ url }) => sayingSo.has(url));
}
