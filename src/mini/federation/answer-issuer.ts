import type { IncomingMessage } from 'node:http';
import { answerJson, type Exchange } from './exchange.ts';
import type { Issuer } from './issuer.ts';
import { issuerPath } from './namespace.ts';

const wellKnown = '/.well-known';

/** Answers requests to a namespace's issuer: metadata, keys, logins. False for any other request. */
export async function answerIssuer(exchange: Exchange): Promise<boolean> {
  for (const { prefix, issuer } of exchange.context.namespaces) {
    const base = issuerPath(prefix);
    if (issuer === undefined || !exchange.path.startsWith(`${base}/`)) continue;
    const page = exchange.path.slice(base.length);
    if (
      exchange.method === 'POST'
        ? await answerPost(exchange, issuer, page)
        : answerGet(exchange, issuer, page)
    )
      return true;
  }
  return false;
}

function answerGet({ response, query }: Exchange, issuer: Issuer, page: string): boolean {
  if (page === `${wellKnown}/issuer.jwks`) answerJson(response, 200, issuer.jwks);
  else if (page === `${wellKnown}/openid-configuration` || page === `${wellKnown}/oauth-authorization-server`)
    answerJson(response, 200, issuer.metadata);
  else if (page === '/device') {
    // Approval is left to whoever started the federation: anyone on this machine can read this page.
    const code = (query.get('user_code') ?? 'CODE').replaceAll(/[^\w-]/g, '');
    response.writeHead(200, { 'Content-Type': 'text/plain' });
    response.end(`To approve this login: updraft mini federation approve ${code}\n`);
  } else return false;
  return true;
}

async function answerPost({ request, response }: Exchange, issuer: Issuer, page: string): Promise<boolean> {
  const { device, url } = issuer;
  const text = await bodyOf(request);
  const form = new URLSearchParams(text);
  const client = clientOf(request, form);
  const answer =
    page === '/oidc-cm'
      ? device.register((JSON.parse(text) as { client_name?: unknown }).client_name)
      : page === '/device_authorization'
        ? device.authorize(form, client, `${url}/device`)
        : page === '/token'
          ? device.token(form, client)
          : page === '/revoke'
            ? device.revoke(form, client)
            : undefined;
  if (answer === undefined) return false;
  response.setHeader('Cache-Control', 'no-store');
  answerJson(response, answer.status, answer.body);
  return true;
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request as AsyncIterable<Buffer>) parts.push(part);
  return Buffer.concat(parts).toString();
}

/** Client credentials, from HTTP Basic or the form. */
function clientOf(request: IncomingMessage, form: URLSearchParams): { id: string; secret: string } {
  const basic = /^Basic (\S+)$/.exec(request.headers.authorization ?? '')?.[1];
  if (basic === undefined)
    return { id: form.get('client_id') ?? '', secret: form.get('client_secret') ?? '' };
  const [id = '', secret = ''] = Buffer.from(basic, 'base64').toString().split(/:(.*)/s, 2);
  return { id: decodeURIComponent(id), secret: decodeURIComponent(secret) };
}
