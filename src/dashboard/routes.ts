import type { IncomingMessage, ServerResponse } from 'node:http';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type Clock, printableLines, succeeds } from '@updraft/base';
import { asFault, usageFault } from '@updraft/account/fault';
import { attemptFiles, attemptFolder } from '@updraft/account/run-folder';
import type { JobState } from '@updraft/account/journal';
import { isOwnPage } from './gatekeeper.ts';
import { explainJobs, jobDetail } from './job-detail.ts';
import { type PageMaker, plainPage } from './page.ts';
import { downloadHeaders, listResults, openResult } from './result-files.ts';
import type { RunHub } from './run-hub.ts';
import { readEnd } from './run-source.ts';

/** More pages that follow a run at once are a mistake or an attack. */
const maxStreams = 16;
const logBytes = 64 * 1024;
/** Rows in the page itself, enough to fill a screen; the stream sends the rest. */
const firstRows = 60;
const maxBodyBytes = 1 << 20;

export interface ServedRuns {
  hubs: readonly RunHub[];
  makePage: PageMaker;
  streams: Set<EventStream>;
  clock: Clock;
  version: string;
}

/** Answers a request of an admitted browser. */
export async function handleRequest(
  site: ServedRuns,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://localhost');
  const [, index, what] = /^\/(?:run\/(\d+)(?:\/(\w+))?)?$/.exec(url.pathname) ?? [];
  const hub = url.pathname === '/' ? site.hubs[0] : site.hubs[Number(index)];
  if (hub === undefined) sendText(response, 404, 'Page not found.');
  else if (request.method === 'POST' && (what === 'stop' || what === 'retry'))
    await act(hub, what, request, response);
  else if (request.method !== 'GET') sendText(response, 405, 'Only GET is allowed here.');
  else if (what === undefined) sendPage(site, hub, response);
  else if (what === 'events') openStream(site, hub, request, response);
  else if (what === 'curves')
    sendJson(response, await hub.curvesOf(url.searchParams.get('metric') ?? 'loss', jobIn(hub, url)));
  else await sendOfJob(hub, what, url, response);
}

function sendPage(site: ServedRuns, hub: RunHub, response: ServerResponse): void {
  const news = hub.changesSince(undefined);
  if (news === undefined) {
    sendHtml(response, 200, plainPage('Reading the run …', hub.trouble ?? 'This takes a moment.', '/', 1));
    return;
  }
  const { board, rows, reset } = news;
  const runs = site.hubs.map((one, index) => ({
    name: one.state?.run ?? path.basename(one.source.folder),
    href: `/run/${index}`,
    current: one === hub,
  }));
  const { html, policy } = site.makePage({
    mode: 'live',
    base: `/run/${site.hubs.indexOf(hub)}`,
    runs,
    change: { board, rows: rows.slice(0, firstRows), reset },
    details: {},
    curves: {},
    version: site.version,
  });
  response.setHeader('Content-Security-Policy', policy);
  sendHtml(response, 200, html);
}

function openStream(site: ServedRuns, hub: RunHub, request: IncomingMessage, response: ServerResponse): void {
  if (site.streams.size >= maxStreams) {
    sendText(response, 503, 'Too many pages follow this run: close some.');
    return;
  }
  const mark = request.headers['last-event-id'];
  const stream = new EventStream(hub, response, typeof mark === 'string' ? mark : undefined);
  site.streams.add(stream);
  response.on('close', () => site.streams.delete(stream));
}

const jobIn = ({ state }: RunHub, url: URL): JobState | undefined =>
  state?.jobs.find(({ id }) => id === url.searchParams.get('id'));

/** What the page asks of one job. */
async function sendOfJob(hub: RunHub, what: string, url: URL, response: ServerResponse): Promise<void> {
  const { source, state } = hub;
  const job = jobIn(hub, url);
  if (state === undefined || job === undefined) sendText(response, 404, 'The run has no such job.');
  else if (what === 'job') {
    const [explanation] = await explainJobs(source, state, [job]);
    sendJson(response, explanation && (await jobDetail(source, job, explanation)));
  } else if (what === 'log') await sendLog(source.folder, job, url, response);
  else if (what === 'results') sendJson(response, await listResults(source.folder, job.id));
  else if (what === 'result') await sendResult(source.folder, state.run, job.id, url, response);
  else sendText(response, 404, 'Page not found.');
}

async function sendLog(folder: string, job: JobState, url: URL, response: ServerResponse): Promise<void> {
  const number = Number(url.searchParams.get('attempt') ?? job.attempts.at(-1)?.number);
  const stream = url.searchParams.get('stream') === 'err' ? 'err' : 'out';
  // Ids from a journal must not lead out of the run's folder.
  const file = path.join(attemptFolder('.', job.id, number), attemptFiles[stream]);
  if (!job.attempts.some((one) => one.number === number) || file.startsWith('..')) {
    sendText(response, 404, 'The job has no such attempt.');
    return;
  }
  const part = await readEnd(path.join(folder, file), logBytes);
  sendJson(response, { ...part, text: printableLines(part.text) });
}

/** A file of a job's results, as a download. */
async function sendResult(
  folder: string,
  run: string,
  job: string,
  url: URL,
  response: ServerResponse,
): Promise<void> {
  const name = url.searchParams.get('file') ?? '';
  const found = await openResult(folder, job, name);
  if (found === undefined) {
    sendText(response, 404, "The job's results have no such file.");
    return;
  }
  const { handle, bytes } = found;
  response.writeHead(200, { ...downloadHeaders(run, job, name), 'Content-Length': String(bytes) });
  // Not beyond the length that was promised, should the file grow. An aborted download is nobody's fault.
  if (bytes === 0) response.end();
  else await pipeline(handle.createReadStream({ end: bytes - 1 }), response).catch(() => undefined);
  await handle.close().catch(() => undefined);
}

async function act(
  hub: RunHub,
  action: 'stop' | 'retry',
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (!isOwnPage(request.headers)) {
    sendText(response, 403, "Only the dashboard's own page may do this.");
    return;
  }
  try {
    const jobs = jobsIn(await bodyOf(request));
    await hub.source[action](jobs);
    sendJson(response, { asked: action });
  } catch (error) {
    const { message, fix } = asFault(error);
    response.statusCode = 400;
    sendJson(response, { error: message, fix: fix ?? '' });
  }
}

/** An empty list means all jobs, so anything but a list of ids is refused. */
function jobsIn(body: string): string[] {
  const wrong = usageFault('the request has no list of jobs');
  let jobs: unknown;
  try {
    ({ jobs } = JSON.parse(body) as { jobs?: unknown });
  } catch {
    throw wrong;
  }
  if (!Array.isArray(jobs) || !jobs.every((job) => typeof job === 'string')) throw wrong;
  return jobs;
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size <= maxBodyBytes) chunks.push(chunk);
  }
  if (size > maxBodyBytes) throw usageFault('the request is too long');
  return Buffer.concat(chunks).toString('utf8');
}

export function sendHtml(response: ServerResponse, status: number, html: string): void {
  response.writeHead(status, { 'Content-Type': 'text/html; charset=utf-8' }).end(html);
}

export function sendText(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8' }).end(`${text}\n`);
}

function sendJson(response: ServerResponse, value: unknown): void {
  response.setHeader('Content-Type', 'application/json; charset=utf-8');
  response.end(JSON.stringify(value));
}

/** Rows per event, so that the page can draw in between. */
const maxRows = 500;
const heartbeatMillis = 15_000;

/**
 * Sends changes to a page as server-sent events until it disconnects. A page that cannot keep up is skipped, and gets
 * everything it missed in one update.
 */
class EventStream {
  readonly #hub: RunHub;
  readonly #response: ServerResponse;
  #mark: string | undefined;
  readonly #stopListening: () => void;

  constructor(hub: RunHub, response: ServerResponse, mark: string | undefined) {
    this.#hub = hub;
    this.#response = response;
    this.#mark = mark;
    response.writeHead(200, { 'Content-Type': 'text/event-stream; charset=utf-8' });
    // Milliseconds before the browser reconnects.
    response.write('retry: 2000\n\n');
    this.#stopListening = hub.listen(() => this.#send());
    response.on('drain', () => this.#send());
    response.on('close', this.#stopListening);
    this.#send();
  }

  sendHeartbeat(): void {
    if (!this.#response.writableNeedDrain) this.#response.write(': alive\n\n');
  }

  #send(): void {
    if (this.#response.writableNeedDrain) return;
    const news = this.#hub.changesSince(this.#mark);
    if (news === undefined || news.mark === this.#mark) return;
    const { board, rows, reset, mark } = news;
    for (let from = 0; from === 0 || from < rows.length; from += maxRows) {
      const change = { board, rows: rows.slice(from, from + maxRows), reset: reset && from === 0 };
      // Only the last part has the mark: a page that is cut off before it asks for all of them again.
      const id = from + maxRows >= rows.length ? `id: ${mark}\n` : '';
      this.#response.write(`${id}event: change\ndata: ${JSON.stringify(change)}\n\n`);
    }
    this.#mark = mark;
  }
}

/** Sends heartbeats and refreshes the hubs until the signal aborts. */
export async function keepAlive(
  streams: ReadonlySet<EventStream>,
  hubs: readonly RunHub[],
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    if (!(await succeeds(clock.sleep(heartbeatMillis, signal)))) return;
    for (const hub of hubs) hub.refresh();
    for (const stream of streams) stream.sendHeartbeat();
  }
}
