import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { configureOf } from '../../src/cli/command-line.ts';
import { AgentHarness } from '../agent/agent-harness.ts';
import { runCommand } from '../cli/run-command.ts';
import { fastClock } from '../fast-clock.ts';
import { signedToken } from '../federation/signed-token.ts';
import { testAuthority, webServer } from '../federation/web-server.ts';
import { callPlugin } from '../plugin/call-plugin.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const issuer = 'https://issuer.example';
let made = 0;
/** Each use has its own token, so that a late request cannot be taken for one of another use. */
const tokens = {
  mine: () =>
    signedToken({
      iss: issuer,
      aud: 'https://wlcg.cern.ch/jwt/v1/any',
      scope: 'storage.read:/',
      jti: ++made,
    }),
  opaque: () => `Opaque-0123456789-abcdefghij-${++made}`,
};

/** What a server answers of a federation; each may change at any time. */
interface Federation {
  director: string;
  servers: string;
  issuer: string;
  /** Where its document is instead. */
  moved?: string;
  /** What the document claims of itself. */
  claims?: string;
}

async function host(t: TestContext, plain = false) {
  const now: Partial<Federation> = {};
  const server = await webServer(
    t,
    ({ url, method }, response) => {
      if (url.startsWith('/.well-known/')) {
        if (now.moved !== undefined) return response.writeHead(302, { Location: `${now.moved}${url}` }).end();
        const { director = server.url, claims } = now;
        return response.end(
          JSON.stringify({ director_endpoint: `${director}/director`, discovery_endpoint: claims }),
        );
      }
      if (!url.startsWith('/director')) return response.writeHead(method === 'GET' ? 200 : 404).end('hello');
      const at = now.servers ?? server.url;
      const named = {
        Server: 'pelican/7.27.0',
        Link: `<${at}${url.slice('/director'.length).split('?')[0] ?? ''}>; pri=1`,
        'X-Pelican-Namespace': `namespace=/ns, require-token=true, collections-url=${at}`,
        'X-Pelican-Authorization': `issuer=${now.issuer ?? issuer}`,
      };
      return response.writeHead(307, named).end();
    },
    { plain },
  );
  const got = (token: string): boolean =>
    server.requests.some(({ headers }) => headers.authorization === `Bearer ${token}`);
  return { ...server, now, got };
}

/** Each way to use an object, with a token that is only found; the federation `confirmed` was confirmed here. */
async function user(t: TestContext, confirmed: string) {
  const folder = await temporaryFolder(t, { file: 'x' });
  const env = {
    SSL_CERT_FILE: testAuthority,
    HOME: folder,
    TMPDIR: folder,
    XDG_STATE_HOME: path.join(folder, '.state'),
    XDG_RUNTIME_DIR: folder,
    UPDRAFT_STALL_SECONDS: '1',
  };
  const updraft = async (words: string[], more: Record<string, string> = {}): Promise<string> => {
    const own = { ...env, ...more };
    let err = '';
    const [name = '', ...args] = words;
    const cli = { cwd: folder, env: own, uid: process.getuid?.() ?? 0, clock: fastClock(400) };
    await runCommand({ configure: await configureOf(name) }, args, {
      ...cli,
      err: (text) => void (err += text),
    }).catch((error: unknown) => (err += String(error)));
    return err;
  };
  assert.equal(await updraft(['login', '--federation', new URL(confirmed).host]), '');
  const viaAgent = async (url: string, token: string): Promise<void> => {
    const agent = await AgentHarness.open(t);
    const asked = { data: [{ url, unpack: 'none' as const }], confirmed: [confirmed] };
    await agent.run(asked, undefined, { ...env, BEARER_TOKEN: token });
  };
  const viaPlugin = async (url: string, token: string): Promise<void> => {
    const order = {
      version: 1,
      run: 'bench',
      job: { id: '0000', parameters: {}, train: { command: 'x', files: [], outputs: ['y'], env: {} } },
      data: [{ name: 'd', url, into: 'data', unpack: 'none', expect: {}, delivered: 'x' }],
      environment: { python: [] },
      resources: { cpus: 1, gpus: 0, memoryBytes: 1 },
      confirmed: [confirmed],
    };
    const sandbox = await temporaryFolder(t, {
      '.condor_creds/scitokens.use': token,
      '0000.json': JSON.stringify(order),
      '.job.ad': 'UpdraftJob = "0000"\n',
    });
    await callPlugin({
      folder: sandbox,
      requests: [{ url, file: path.join(sandbox, 'x') }],
      env: { UPDRAFT_SSL_CERT_FILE: testAuthority, _CONDOR_JOB_AD: path.join(sandbox, '.job.ad') },
    });
  };
  const commands = (url: string): string[][] => [
    ['get', url, 'got', '--overwrite'],
    ['stat', url],
    ['ls', url],
    ['cat', url],
    ['put', 'file', url],
    ['rm', url, '--yes'],
    ['check', '--quick'],
  ];
  /** Uses the object in every way; `check` is called with the name and token of each. */
  return async (url: string, kind: keyof typeof tokens, check: (name: string, token: string) => void) => {
    const job = `name = "x"\n[train]\ncommand = "true"\noutputs = ["out"]\n[data.d]\nurl = "${url}"\n`;
    await writeFile(path.join(folder, 'updraft.toml'), job);
    const ways = commands(url).map((words): [string, (token: string) => Promise<unknown>] => [
      words[0] ?? '',
      (token) => updraft(words, { BEARER_TOKEN: token }),
    ]);
    ways.push(['agent', (token) => viaAgent(url, token)], ['plugin', (token) => viaPlugin(url, token)]);
    for (const [name, way] of ways) {
      const token = tokens[kind]();
      await way(token);
      check(name, token);
    }
  };
}

test('after a confirmation, the name of the host decides, whatever the documents of any host claim', async (t) => {
  const [campus, other, evil] = [await host(t), await host(t), await host(t)];
  const use = await user(t, campus.url);
  const object = `pelican://${campus.host}/ns/x`;
  const hosts = [campus, other, evil];
  const reaches = (expected: readonly (typeof campus)[]) => (name: string, token: string) => {
    const reached = hosts.filter((one) => one.got(token));
    assert.ok(
      reached.every((one) => expected.includes(one)),
      `${name}: ${reached.map(({ host: at }) => at).join()}`,
    );
    assert.equal(reached.length > 0, expected.length > 0, name);
  };
  const set = (one: typeof campus, now: Partial<Federation>): void => {
    const none = {
      director: undefined,
      servers: undefined,
      issuer: undefined,
      moved: undefined,
      claims: undefined,
    };
    for (const { now: each } of hosts) Object.assign(each, none);
    Object.assign(one.now, now);
  };

  // What a federation names for an object is its own decision, also later.
  set(campus, { director: other.url });
  await use(object, 'opaque', reaches([other]));
  set(campus, { servers: other.url });
  await use(object, 'mine', reaches([campus, other]));
  // Another issuer: a token that says whose it is stays here.
  set(campus, { issuer: 'https://other.example' });
  await use(object, 'mine', reaches([]));
  // Another host stays another, whomever it names, claims to be or sends us to.
  for (const [now, kind] of [
    [{ claims: campus.url }, 'mine'],
    [{ moved: campus.url }, 'opaque'],
    [{ director: campus.url, claims: campus.url }, 'opaque'],
  ] as const) {
    set(evil, now);
    await use(`pelican://${evil.host}/ns/x`, kind, reaches([]));
  }
});

test('a confirmed federation whose documents lead to plain http gets no token there', async (t) => {
  const [campus, plain] = [await host(t), await host(t, true)];
  const use = await user(t, campus.url);
  for (const now of [{ director: plain.url }, { servers: plain.url }, { moved: plain.url }]) {
    Object.assign(campus.now, { director: undefined, servers: undefined, moved: undefined }, now);
    await use(`pelican://${campus.host}/ns/x`, 'opaque', (name, token) =>
      assert.equal(plain.got(token), false, name),
    );
  }
});
