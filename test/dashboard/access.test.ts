import assert from 'node:assert/strict';
import { symlink } from 'node:fs/promises';
import { request, type IncomingMessage } from 'node:http';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import type { Dashboard } from '../../src/dashboard/serve-dashboard.ts';
import type { BoardUpdate } from '../../src/dashboard/page-data.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { imagenetRun, type WrittenRun } from './imagenet-run.ts';
import { folderRun, served } from './served.ts';

interface Reply {
  status: number;
  headers: IncomingMessage['headers'];
  text: string;
}

/** A request with any headers. */
function ask(
  { port }: Dashboard,
  path: string,
  options: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<Reply> {
  const { method = 'GET', headers = {}, body } = options;
  return new Promise((resolve, reject) => {
    const asked = request({ host: '127.0.0.1', port, path, method, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => (text += part));
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text }),
      );
    });
    asked.on('error', reject).end(body);
  });
}

const tokenPath = ({ url }: Dashboard): string => url.slice(new URL(url).origin.length);

async function enter(dashboard: Dashboard): Promise<string> {
  const { headers } = await ask(dashboard, tokenPath(dashboard));
  return headers['set-cookie']?.[0]?.split(';')[0] ?? '';
}

async function dashboardOf(
  t: TestContext,
  jobs = 8,
): Promise<{ dashboard: Dashboard; run: WrittenRun; stopped: string[][] }> {
  const folder = path.join(await temporaryFolder(t), 'imagenet-k3v9q1');
  const run = await imagenetRun(folder, Date.now(), jobs);
  const stopped: string[][] = [];
  return { dashboard: await served(t, folderRun(folder, stopped)), run, stopped };
}

test('nothing is shown without the token, with a wrong one, or with an invented cookie', async (t) => {
  const { dashboard } = await dashboardOf(t);
  const cookie = `updraft-${dashboard.port}=guess`;
  for (const [where, headers] of [
    ['/', {}],
    ['/?token=', {}],
    ['/?token=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA', {}],
    ['/run/0/events', {}],
    ['/run/0/job?id=0001', { cookie }],
    ['/run/0/log?id=0001', { cookie }],
    ['/run/0/curves?metric=loss', { cookie }],
    ['/run/0/results?id=0001', { cookie }],
  ] as const) {
    const { status, text } = await ask(dashboard, where, { headers });
    assert.equal(status, 403, where);
    assert.doesNotMatch(text, /imagenet/, where);
  }
});

test('the token of the link admits one browser, once', async (t) => {
  const { dashboard } = await dashboardOf(t);
  const first = await ask(dashboard, tokenPath(dashboard));
  assert.equal(first.status, 200);
  assert.match(first.headers['set-cookie']?.[0] ?? '', /; HttpOnly; SameSite=Strict; Path=\/$/);
  const again = await ask(dashboard, tokenPath(dashboard));
  assert.equal(again.status, 403);
  assert.match(again.text, /has been used already/);
  assert.equal(again.headers['set-cookie'], undefined);
});

test('a browser with the cookie sees the run, and may load the link again', async (t) => {
  const { dashboard } = await dashboardOf(t);
  const cookie = await enter(dashboard);
  const page = await ask(dashboard, tokenPath(dashboard), { headers: { cookie } });
  assert.equal(page.status, 200);
});

test('another name for this machine is refused, even with the cookie', async (t) => {
  const { dashboard } = await dashboardOf(t);
  const cookie = await enter(dashboard);
  for (const host of [
    'evil.example',
    `127.0.0.1.evil.example:${dashboard.port}`,
    '0.0.0.0',
    '[::ffff:7f00:1]',
  ])
    assert.equal((await ask(dashboard, '/', { headers: { cookie, host } })).status, 421, host);
  const { status } = await ask(dashboard, '/', { headers: { cookie, host: `localhost:${dashboard.port}` } });
  assert.equal(status, 200);
});

test('every response forbids caching, framing and loading from elsewhere', async (t) => {
  const { dashboard } = await dashboardOf(t);
  const cookie = await enter(dashboard);
  for (const where of ['/', '/run/0', '/run/0/job?id=0001', '/nowhere']) {
    const { headers } = await ask(dashboard, where, { headers: { cookie } });
    assert.equal(headers['cache-control'], 'no-store', where);
    assert.equal(headers['x-content-type-options'], 'nosniff', where);
    assert.match(
      headers['content-security-policy'] as string,
      /default-src 'none'.*frame-ancestors 'none'/,
      where,
    );
    assert.doesNotMatch(headers['content-security-policy'] as string, /unsafe|\*|http/, where);
  }
});

test('stopping is refused for another origin, or none', async (t) => {
  const { dashboard, stopped } = await dashboardOf(t);
  const cookie = await enter(dashboard);
  const own = `http://127.0.0.1:${dashboard.port}`;
  const stop = (headers: Record<string, string>, body = '{"jobs":["0002"]}') =>
    ask(dashboard, '/run/0/stop', { method: 'POST', headers: { cookie, ...headers }, body });
  assert.equal((await stop({})).status, 403);
  assert.equal((await stop({ origin: 'http://evil.example' })).status, 403);
  assert.equal((await stop({ origin: own, 'sec-fetch-site': 'cross-site' })).status, 403);
  assert.equal((await stop({ origin: own, cookie: '' })).status, 403);
  for (const body of ['', '{}', '{"jobs":"all"}', '{"jobs":[1]}', 'x'.repeat(2 << 20)])
    assert.equal((await stop({ origin: own }, body)).status, 400);
  assert.deepEqual(stopped, []);
  assert.equal((await stop({ origin: own })).status, 200);
  assert.deepEqual(stopped, [['0002']]);
});

test('a job id in a journal cannot lead out of the run', async (t) => {
  const parent = await temporaryFolder(t, { 'attempt-1/out.log': 'a secret beside the run' });
  const run = await imagenetRun(path.join(parent, 'run-1'), Date.now(), 1);
  for (const job of ['../..', '../../..', '/etc'])
    await run.append(0, { kind: 'attempt-started', job, attempt: 1, why: 'first attempt' });
  const dashboard = await served(t, folderRun(run.folder));
  const cookie = await enter(dashboard);
  await readEvents(dashboard, cookie, 1);
  for (const id of ['../..', '../../..', '/etc', '0001']) {
    const { text } = await ask(dashboard, `/run/0/log?id=${encodeURIComponent(id)}`, { headers: { cookie } });
    assert.doesNotMatch(text, /secret/, id);
  }
});

test('a download needs the cookie, and leads to nothing but the results of its job', async (t) => {
  const parent = await temporaryFolder(t, {
    'secret.txt': 'a secret',
    'run-1/results/0000/model.pt': 'weights',
  });
  const run = await imagenetRun(path.join(parent, 'run-1'), Date.now(), 1);
  await run.append(0, { kind: 'attempt-started', job: '..', attempt: 1, why: 'first attempt' });
  await symlink(path.join(parent, 'secret.txt'), path.join(run.folder, 'results/0000/link.pt'));
  const dashboard = await served(t, folderRun(run.folder));
  assert.equal((await ask(dashboard, '/run/0/result?id=0000&file=model.pt')).status, 403);
  const cookie = await enter(dashboard);
  await readEvents(dashboard, cookie, 1);
  const get = (where: string) => ask(dashboard, `/run/0/${where}`, { headers: { cookie } });
  const { status, text, headers } = await get('result?id=0000&file=model.pt');
  assert.deepEqual([status, text, headers['content-length']], [200, 'weights', '7']);
  assert.match(headers['content-disposition'] ?? '', /^attachment; filename="run-1-0000-model\.pt"/);
  assert.equal((await get('results?id=0000')).text, '[{"name":"model.pt","bytes":7}]');
  for (const where of [
    'result?id=0000&file=../../../secret.txt',
    'result?id=0000&file=..%2f..%2f..%2fsecret.txt',
    'result?id=0000&file=%2e%2e/%2e%2e/%2e%2e/secret.txt',
    'result?id=0000&file=link.pt',
    'result?id=0000&file=/etc/passwd',
    'result?id=0000&file=model.pt%00',
    'result?id=0000',
    'result?id=..&file=journal.jsonl',
    'result?id=%2e%2e&file=../secret.txt',
    'result?id=0000%2f..%2f0000&file=model.pt',
    'result/../../secret.txt',
    'result%2f..%2fsecret.txt',
  ]) {
    const reply = await get(where);
    assert.equal(reply.status, 404, where);
    assert.doesNotMatch(reply.text, /secret|weights|root:|"kind"/, where);
  }
});

interface Received {
  id: string;
  change: BoardUpdate;
}

/** The first events of the stream; simultaneous ones count as one. */
function readEvents(
  dashboard: Dashboard,
  cookie: string,
  count: number,
  mark = '',
  onFirst?: () => void,
): Promise<Received[]> {
  return new Promise((resolve, reject) => {
    const headers = { cookie, ...(mark === '' ? {} : { 'last-event-id': mark }) };
    const asked = request(
      { host: '127.0.0.1', port: dashboard.port, path: '/run/0/events', headers },
      (response) => {
        let text = '';
        let heard = 0;
        response.setEncoding('utf8').on('data', (part: string) => {
          text += part;
          const events = [...text.matchAll(/^(?:id: (.*)\n)?event: change\ndata: (.*)\n\n/gm)];
          if (heard === 0 && events.length > 0) onFirst?.();
          heard = events.length;
          if (heard < count) return;
          asked.destroy();
          resolve(events.map(([, id = '', data = '']) => ({ id, change: JSON.parse(data) as BoardUpdate })));
        });
        response.on('error', () => undefined);
      },
    );
    asked.on('error', reject).end();
  });
}

test('the stream sends all rows once, and then only those that changed', async (t) => {
  const { dashboard, run } = await dashboardOf(t, 16);
  const cookie = await enter(dashboard);
  const grow = () =>
    void run.append(5399, { kind: 'attempt-started', job: '0007', attempt: 1, why: 'first attempt' });
  const [all, news] = await readEvents(dashboard, cookie, 2, '', grow);
  assert.equal(all?.change.rows.length, 16);
  assert.equal(all.change.reset, true);
  assert.equal(news?.change.reset, false);
  assert.ok(news.change.rows.some(({ id }) => id === '0007'));
  assert.ok(!news.change.rows.some(({ state }) => state === 'success'));
});

test('a page that reconnects with its last mark gets what it missed; an unknown mark gets everything', async (t) => {
  const { dashboard, run } = await dashboardOf(t, 16);
  const cookie = await enter(dashboard);
  const [{ id: mark } = { id: '' }] = await readEvents(dashboard, cookie, 1);
  await run.append(5399, { kind: 'job-ended', job: '0007', outcome: 'stopped' });
  const missed = await readEvents(dashboard, cookie, 1, mark);
  assert.equal(missed[0]!.change.reset, false);
  assert.ok(missed.every(({ change }) => change.rows.length < 16));
  const strange = await readEvents(dashboard, cookie, 1, 'ffffffff.3');
  assert.equal(strange[0]!.change.reset, true);
  assert.equal(strange[0]!.change.rows.length, 16);
});

test('the seventeenth page is refused with a reason', async (t) => {
  const { dashboard } = await dashboardOf(t, 1);
  const cookie = await enter(dashboard);
  const open = () =>
    new Promise<number>((resolve, reject) => {
      const asked = request(
        { host: '127.0.0.1', port: dashboard.port, path: '/run/0/events', headers: { cookie }, agent: false },
        (response) => {
          response.resume().on('error', () => undefined);
          resolve(response.statusCode ?? 0);
        },
      );
      asked.on('error', reject).end();
    });
  for (let page = 0; page < 16; page += 1) assert.equal(await open(), 200);
  const { status, text } = await ask(dashboard, '/run/0/events', { headers: { cookie } });
  assert.equal(status, 503);
  assert.match(text, /Too many pages/);
});
