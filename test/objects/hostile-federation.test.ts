import assert from 'node:assert/strict';
import { chmod, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { renameSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { fastClock } from '../fast-clock.ts';
import { configureOf } from '../../src/cli/command-line.ts';
import { printFault } from '../../src/cli/print-fault.ts';
import type { Cli } from '../../src/cli/cli.ts';
import { asFault } from '@updraft/account/fault';
import type { Plan } from '../../src/job/plan.ts';
import { variantsOf } from '../../src/job/variants.ts';
import { runCommand } from '../cli/run-command.ts';
import { signedToken } from '../federation/signed-token.ts';
import { testAuthority, webServer } from '../federation/web-server.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const issuer = 'https://issuer.example';
const opaque = 'Opaque-0123456789-abcdefghij-SECRET';
const mine = signedToken({ iss: issuer, aud: 'https://wlcg.cern.ch/jwt/v1/any', scope: 'storage.read:/' });
const other = signedToken({ iss: 'https://other.example', scope: 'storage.read:/ storage.create:/' });

type Reply = (response: ServerResponse, token: string) => void;
const refuse: Reply = (response) => void response.writeHead(404).end();

/** A federation on one port; its namespace requires tokens of `issuer` and answers requests as the test wants. */
async function hostile(t: TestContext, reply: Reply = refuse, clock = fastClock(400)) {
  const folder = await temporaryFolder(t);
  const server = await webServer(t, ({ url, headers }, response) => {
    if (url.startsWith('/.well-known/'))
      return response.end(JSON.stringify({ director_endpoint: `${server.url}/director` }));
    const token = headers.authorization?.replace('Bearer ', '') ?? '';
    if (!url.startsWith('/director')) {
      reply(response, token);
      return;
    }
    const named = {
      Server: 'pelican/7.27.0',
      Link: `<${server.url}${url.slice('/director'.length).split('?')[0] ?? ''}>; pri=1`,
      'X-Pelican-Namespace': `namespace=/ns, require-token=true, collections-url=${server.url}`,
      'X-Pelican-Authorization': `issuer=${issuer}`,
    };
    return response.writeHead(307, named).end();
  });
  const env = {
    SSL_CERT_FILE: testAuthority,
    TMPDIR: folder,
    XDG_STATE_HOME: path.join(folder, '.state'),
    XDG_RUNTIME_DIR: folder,
  };
  const updraft = async (words: string[], more: Record<string, string>): Promise<string> => {
    let said = '';
    const say = (text: string): void => void (said += text);
    const uid = process.getuid?.() ?? 0;
    const cli = { clock, uid, out: say, err: say, cwd: folder, env: { ...env, ...more } };
    const [name = '', ...args] = words;
    try {
      await runCommand({ configure: await configureOf(name) }, args, cli);
    } catch (thrown) {
      printFault(cli as unknown as Cli, asFault(thrown), false);
    }
    return said;
  };
  const sent = (): string[] => server.requests.flatMap(({ headers }) => headers.authorization ?? []);
  return { folder, server, updraft, sent, object: `pelican://${server.host}/ns/x` };
}

const uses = (object: string): string[][] => [
  ['get', object, 'got'],
  ['stat', object],
  ['ls', object],
  ['cat', object],
  ['put', 'file', object],
  ['rm', object, '--yes'],
];

test('no command sends a token that was found to a federation, whatever issuer it claims', async (t) => {
  const { folder, updraft, sent, object } = await hostile(t);
  await writeFile(path.join(folder, 'file'), 'x');
  for (const [token, why] of [
    [other, /is from https:\/\/other\.example/],
    [mine, /does not say for which federation it is, and you have not confirmed the federation/],
    [opaque, /does not say who issued it, and you have not confirmed/],
  ] as const)
    for (const words of uses(object)) {
      const said = await updraft(words, { BEARER_TOKEN: token });
      assert.match(said, why, words[0]);
      assert.match(said, /name the file.*--token-file/, words[0]);
      if (token !== other) assert.match(said, /`updraft login --federation 127\.0\.0\.1:\d+`/, words[0]);
      assert.ok(!said.includes(token), words[0]);
    }
  assert.deepEqual(sent(), []);
});

test('a token that is named for an object goes to the federation of that object, whoever issued it', async (t) => {
  for (const token of [mine, other, opaque])
    for (const isFlag of [true, false]) {
      const { folder, updraft, sent, object } = await hostile(t);
      await writeFile(path.join(folder, 'token'), token);
      await writeFile(path.join(folder, 'file'), 'x');
      for (const words of uses(object)) {
        const before = sent().length;
        const flag = isFlag ? ['--token-file', 'token'] : [];
        await updraft([...words, ...flag], { BEARER_TOKEN: mine, UPDRAFT_BEARER_TOKEN_FILE: 'token' });
        assert.ok(sent().length > before, words[0]);
      }
      assert.ok(sent().every((authorization) => authorization === `Bearer ${token}`));
    }
});

test('a federation that was confirmed by name gets tokens of its issuer and opaque ones, until that is revoked', async (t) => {
  const { folder, server, updraft, sent, object } = await hostile(t);
  const listed = async (): Promise<string> => await updraft(['login', '--list'], {});
  assert.match(await listed(), /no stored logins/);
  await updraft(['login', '--federation', server.host], {});
  const file = path.join(folder, '.state/updraft/logins/federations');
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  assert.match(await listed(), new RegExp(`${server.host} +get tokens that are found`));
  for (const token of [mine, opaque]) {
    await updraft(['stat', object], { BEARER_TOKEN: token });
    assert.equal(sent().at(-1), `Bearer ${token}`);
  }
  // A last request of the command before may still arrive: with the opaque token.
  const count = (token: string): number => sent().filter((one) => one === `Bearer ${token}`).length;
  const before = count(mine);
  assert.match(await updraft(['stat', object], { BEARER_TOKEN: other }), /is from https:\/\/other\.example/);
  await updraft(['login', '--forget', server.host], {});
  assert.match(await listed(), /no stored logins/);
  assert.match(await updraft(['stat', object], { BEARER_TOKEN: mine }), /you have not confirmed/);
  assert.match(await updraft(['login', '--forget', server.host], {}), /no stored login for/);
  assert.deepEqual([count(mine), count(other)], [before, 0]);
});

test('a job takes along the names of the confirmed federations of its own objects, and no others', async (t) => {
  const { folder, server, updraft, object } = await hostile(t);
  const other = await hostile(t);
  const train = '[train]\ncommand = "cat data/* > out"\noutputs = ["out"]\n';
  const data = (name: string, url: string): string =>
    `[data.${name}]\nurl = "${url}"\nunpack = "none"\ninto = "data/${name}"\n`;
  const confirmed = async (text: string): Promise<unknown> => {
    await writeFile(path.join(folder, 'updraft.toml'), `name = "x"\n${train}${text}`);
    const said = await updraft(['plan', '--json'], {});
    assert.match(said, /^{/);
    const plan = JSON.parse(said) as Plan;
    return variantsOf(plan).map((one) => one.confirmed);
  };
  const both = `${data('a', object)}${data('b', 'https://campus.example/x')}`;
  assert.deepEqual(await confirmed(both), [undefined]);
  for (const { host } of [server, other.server]) await updraft(['login', '--federation', host], {});
  assert.deepEqual(await confirmed(both), [[server.url]]);
  assert.deepEqual(await confirmed(data('a', other.object)), [[other.server.url]]);
  assert.deepEqual(await confirmed(data('a', 'https://campus.example/x')), [undefined]);
  const varied = `${data('a', 'pelican://{host}/ns/x')}[run]\nmatrix = { host = ["${server.host}", "${other.server.host}"] }\n`;
  assert.deepEqual(await confirmed(varied), [[server.url], [other.server.url]]);
  await updraft(['login', '--forget', server.host], {});
  assert.deepEqual(await confirmed(both), [undefined]);
});

test('no request takes its token along to another host, or from https to http', async (t) => {
  for (const plain of [false, true]) {
    const far = await webServer(t, (_, response) => response.writeHead(404).end(), { plain });
    const redirect: Reply = (response) => void response.writeHead(307, { Location: `${far.url}/ns/x` }).end();
    const { folder, updraft, sent, object, server } = await hostile(t, redirect);
    await writeFile(path.join(folder, 'file'), 'x');
    await writeFile(path.join(folder, 'token'), mine);
    for (const words of [...uses(object), ['put', 'file', object, '--overwrite']])
      await updraft([...words, '--token-file', 'token'], {});
    const methods = new Set(
      server.requests.filter((one) => one.headers.authorization).map((one) => one.method),
    );
    for (const method of ['GET', 'HEAD', 'PUT', 'PROPFIND', 'DELETE']) assert.ok(methods.has(method), method);
    assert.ok(sent().length > 0);
    assert.equal(far.requests.length > 0, !plain, 'https to https is followed');
    assert.deepEqual(
      far.requests.flatMap(({ headers }) => headers.authorization ?? []),
      [],
    );
  }
});

test('a token that was revoked is read again from its file, whatever is asked', async (t) => {
  const renewed = signedToken({ iss: issuer, scope: 'storage.read:/', jti: 'renewed' });
  const isDone = { GET: 200, HEAD: 200, PUT: 201, DELETE: 200, PROPFIND: 207 } as Record<string, number>;
  for (const words of uses('')) {
    const reply: Reply = (response, token) => {
      if (token === renewed) return void response.writeHead(isDone[response.req.method ?? ''] ?? 200).end();
      // Whole at once, as who renews tokens does it: another request may be reading the file.
      writeFileSync(path.join(folder, 'next'), renewed);
      renameSync(path.join(folder, 'next'), path.join(folder, 'token'));
      return void response.writeHead(401, { 'WWW-Authenticate': 'Bearer error="invalid_token"' }).end();
    };
    // A busy machine must not run out of time for a question: it has ten times as long.
    const { folder, updraft, server, object } = await hostile(t, reply, fastClock(0.1));
    await writeFile(path.join(folder, 'token'), mine);
    await writeFile(path.join(folder, 'file'), 'x');
    await updraft([...words.map((word) => word || object), '--token-file', 'token'], {});
    const sent = server.requests.filter(({ url }) => !/^\/(director|\.well)/.test(url));
    const asked = (token: string): string[] =>
      sent.filter(({ headers }) => headers.authorization === `Bearer ${token}`).map(({ method }) => method);
    assert.ok(asked(mine).length > 0, words[0]);
    for (const method of asked(mine)) assert.ok(asked(renewed).includes(method), `${words[0]}: ${method}`);
  }
});

test('a refusal that says that the token has ended may pass; any other is final', async (t) => {
  for (const [status, header, body, exit] of [
    [403, '', 'token has expired', 95],
    [401, 'Bearer error="invalid_token"', '', 95],
    [403, '', '{"error":"revoked"}', 95],
    [403, '', 'not allowed to read this path', 94],
    [401, 'Bearer error="insufficient_scope"', '', 94],
  ] as const) {
    const { folder, updraft, object } = await hostile(
      t,
      (response) => void response.writeHead(status, { 'WWW-Authenticate': header }).end(body),
    );
    await writeFile(path.join(folder, 'token'), mine);
    for (const words of [
      ['get', object, 'got', '--json'],
      ['put', 'token', object, '--json'],
    ]) {
      const said = await updraft([...words, '--token-file', 'token'], {});
      assert.match(
        said,
        exit === 95 ? /"(kind|fault)":"token-expired"/ : /"token-refused"/,
        `${body} ${said}`,
      );
    }
  }
});

const echoes: Record<string, Reply> = {
  body: (response, token) => void response.writeHead(403).end(`no: ${token}`),
  json: (response, token) =>
    void response.writeHead(403).end(JSON.stringify({ error: 'no', detail: `Bearer ${token}` })),
  reason: (response, token) => void response.writeHead(403, token.slice(0, 40)).end(),
  base64: (response, token) =>
    void response.writeHead(400).end(Buffer.from(`Bearer ${token}`).toString('base64')),
  percent: (response, token) => void response.writeHead(400).end(encodeURIComponent(`x=${token}`)),
  range: (response, token) => void response.writeHead(206, { 'Content-Range': `bytes ${token}` }).end('x'),
  encoding: (response, token) => void response.writeHead(200, { 'Content-Encoding': token }).end('x'),
  trailer: (response, token) => {
    if (response.req.method === 'HEAD') {
      refuse(response, token);
      return;
    }
    response.writeHead(200, { Trailer: 'X-Transfer-Status' });
    response.addTrailers({ 'X-Transfer-Status': `500: ${token}` });
    response.end('x');
  },
  garbage: (response, token) => {
    response.socket?.end(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${token}\r\n`);
  },
  line: (response, token) => {
    response.socket?.end(`HTTP/1.1 200 OK\r\n${token}\r\n\r\n`);
  },
};

for (const [where, reply] of Object.entries(echoes))
  test(`a token that a server echoes (${where}) is not shown`, async (t) => {
    const { folder, updraft, sent, object } = await hostile(t, reply);
    for (const token of [opaque, mine]) {
      await writeFile(path.join(folder, 'token'), token);
      for (const words of [
        ['get', object, 'got', '--json'],
        ['stat', object],
      ]) {
        const said = await updraft([...words, '--token-file', 'token'], { UPDRAFT_STALL_SECONDS: '1' });
        assert.notEqual(said, '');
        for (let at = 0; at + 12 < token.length; at += 6) {
          const piece = token.slice(at, at + 12);
          assert.ok(!said.includes(piece), `${piece} in ${said}`);
          assert.ok(!said.includes(Buffer.from(piece).toString('base64').slice(0, 12)), said);
        }
      }
    }
    assert.ok(sent().length > 0);
  });

test('a part or a journal that others can write does not become the file', async (t) => {
  const { folder, updraft } = await hostile(t);
  const good = 'the object itself';
  const server = await webServer(t, ({ headers }, response) => {
    const from = Number(/bytes=(\d+)-/.exec(headers.range ?? '')?.[1] ?? 0);
    const head = { ETag: '"1"', 'Content-Range': `bytes ${from}-${good.length - 1}/${good.length}` };
    response.writeHead(headers.range === undefined ? 200 : 206, head).end(good.slice(from));
  });
  const url = `${server.url}/x`;
  const ranges = [{ start: 0, end: good.length - 1 }];
  const boot = (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
  const identity = { size: good.length, etag: '"1"' };
  const journal = JSON.stringify({ url, identity, done: ranges, flushed: ranges, boot });
  const part = path.join(folder, 'got.updraft-part');
  const plant = async (): Promise<void> => {
    await writeFile(part, 'X'.repeat(good.length - 1), { mode: 0o600 });
    await writeFile(`${part}.json`, journal, { mode: 0o600 });
  };
  for (const open of [part, `${part}.json`]) {
    await plant();
    await chmod(open, 0o666);
    await updraft(['get', url, 'got', '--overwrite'], {});
    assert.equal(await readFile(path.join(folder, 'got'), 'utf8'), good, open);
  }
  const victim = path.join(folder, 'victim');
  await writeFile(victim, 'precious');
  await symlink(victim, `${part}.json.new`);
  await symlink(victim, part);
  assert.match(await updraft(['get', url, 'got', '--overwrite'], {}), /ELOOP|symbolic/);
  assert.equal(await readFile(victim, 'utf8'), 'precious');
});
