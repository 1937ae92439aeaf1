import type { Located, ObjectServer } from './located.ts';
import { requestObject, type ObjectOptions } from './object-request.ts';

/** What one server says of an object. */
export interface ServerView {
  server: ObjectServer;
  /** HTTP status; undefined when it does not answer. */
  status?: number;
  bytes?: number;
  /** Seconds it has been in this cache; undefined where the server says nothing of it. */
  age?: number;
}

/** Asks one server, and no other, what it has of an object. Silence is an answer, too; a missing token is thrown. */
export async function viewServer(
  located: Located,
  server: ObjectServer,
  how: ObjectOptions,
  headerMs?: number,
): Promise<ServerView> {
  if (server.url.startsWith('file:')) return { server };
  await located.headers(server);
  try {
    const limit = headerMs === undefined ? {} : { headerMs };
    const { status, headers } = await requestObject(located, { method: 'HEAD', server, ...limit }, how);
    const [length, age] = [headers['content-length'], headers['age']];
    return {
      server,
      status,
      ...(length === undefined || status !== 200 ? {} : { bytes: Number(length) }),
      ...(age === undefined ? {} : { age: Number(age) }),
    };
  } catch {
    how.signal?.throwIfAborted();
    return { server };
  }
}
