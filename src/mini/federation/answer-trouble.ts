import { answerJson, type Exchange } from './exchange.ts';
import type { ActionOf } from './trouble-rule.ts';

const page =
  '<!DOCTYPE html>\n<html><head><title>Sign in</title></head><body><h1>Please sign in</h1></body></html>\n';

/** Applies the troubles that come before any thought about the object; true when the request is answered. */
export async function answerTrouble(exchange: Exchange): Promise<boolean> {
  const { ground, server, asked, response, method, signal } = exchange;
  if (method === 'OPTIONS') return false;
  const { trouble } = ground;
  const delay = trouble.pick('delay', asked);
  if (delay !== undefined) await ground.clock.sleep(delay.ms, signal);
  const status = trouble.pick('status', asked);
  if (status !== undefined) {
    answerStatus(exchange, status);
    return true;
  }
  if (trouble.pick('html', asked) !== undefined) {
    answerPage(exchange, 200);
    return true;
  }
  if (server.name === 'director' || trouble.pick('nonsense', asked) === undefined) return false;
  response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Range': 'bytes */*', ETag: '' });
  response.end('\0\x01{"nonsense":');
  return true;
}

function answerStatus(exchange: Exchange, action: ActionOf<'status'>): void {
  const { response, server } = exchange;
  if (action.retryAfterSeconds !== undefined) response.setHeader('Retry-After', action.retryAfterSeconds);
  if (action.proxy) {
    response.setHeader('Server', 'nginx');
    answerPage(exchange, action.code);
    return;
  }
  const detail = 'trouble on demand';
  if (action.code === 401) response.setHeader('WWW-Authenticate', 'Bearer error="invalid_token"');
  const body =
    server.name === 'director' ? { status: 'error', msg: detail } : { error: code(action.code), detail };
  answerJson(response, action.code, body);
}

function answerPage({ response, method }: Exchange, status: number): void {
  response.writeHead(status, { 'Content-Type': 'text/html; charset=utf-8', 'Content-Length': page.length });
  response.end(method === 'HEAD' ? undefined : page);
}

function code(status: number): string {
  const known: Record<number, string> = {
    404: 'not_found',
    429: 'cache_overloaded',
    504: 'upstream_timeout',
  };
  return known[status] ?? (status === 401 || status === 403 ? 'authorization_denied' : 'internal_error');
}
