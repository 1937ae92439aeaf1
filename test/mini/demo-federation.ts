import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import http, { type IncomingHttpHeaders, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import https from 'node:https';
import os from 'node:os';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { type MiniFederation, startFederation } from '@updraft/mini/federation';
import type { FederationOptions } from '@updraft/mini/testing';

interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
  trailers: NodeJS.Dict<string>;
  /** Why the body ended early, if it did. */
  cut: string | undefined;
}

interface Question {
  method?: string;
  headers?: OutgoingHttpHeaders;
  body?: Buffer;
  token?: string;
}

/** Sends a request on its own connection; a truncated body is reported, a refused connection throws. */
export async function ask(
  federation: Pick<MiniFederation, 'caFile'>,
  url: string,
  { method = 'GET', headers = {}, body, token }: Question = {},
): Promise<Answer> {
  const authorization = token === undefined ? {} : { Authorization: `Bearer ${token}` };
  const options = { method, agent: false as const, headers: { ...authorization, ...headers } };
  const request = url.startsWith('https:')
    ? https.request(url, { ...options, ca: await readFile(federation.caFile) })
    : http.request(url, options);
  request.end(body);
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  request.on('error', () => undefined);
  const parts: Buffer[] = [];
  let cut: string | undefined;
  try {
    for await (const part of response as AsyncIterable<Buffer>) parts.push(part);
  } catch (error) {
    cut = (error as NodeJS.ErrnoException).code ?? String(error);
  }
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    trailers: response.trailers,
    cut,
    body: Buffer.concat(parts),
  };
}

/** A federation that stops with the test: `/demo` public, `/private` with tokens, `/inbox` writable. */
export async function demoFederation(
  t: TestContext,
  options: Partial<FederationOptions> = {},
): Promise<{
  federation: MiniFederation;
  folder: string;
  objects: { big: Buffer; small: Buffer; secret: Buffer };
}> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'mini-federation-test-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const objects = {
    big: randomBytes(3_500_000),
    small: Buffer.from('123456789'),
    secret: Buffer.from('a secret'),
  };
  for (const name of ['demo/sub', 'private', 'inbox'])
    await mkdir(path.join(folder, name), { recursive: true });
  await writeFile(path.join(folder, 'demo/big.bin'), objects.big);
  await writeFile(path.join(folder, 'demo/sub/small.txt'), objects.small);
  await writeFile(path.join(folder, 'private/secret.txt'), objects.secret);
  const federation = await startFederation({
    namespaces: [
      { prefix: '/demo', folder: path.join(folder, 'demo'), public: true },
      { prefix: '/private', folder: path.join(folder, 'private'), public: false, listings: false },
      { prefix: '/inbox', folder: path.join(folder, 'inbox'), public: false, writable: true },
    ],
    ...options,
  });
  t.after(() => federation.stop());
  return { federation, folder, objects };
}
