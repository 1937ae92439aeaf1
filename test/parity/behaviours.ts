import { spawn, spawnSync, type SpawnSyncOptions, type SpawnSyncReturns } from 'node:child_process';
import { createHash, createHmac, hkdfSync } from 'node:crypto';
import { once } from 'node:events';
import * as fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import tls from 'node:tls';
import zlib from 'node:zlib';
import { type Behaviour, codeOf, files, tried } from './file-behaviours.ts';

const sh = (script: string, options: SpawnSyncOptions = {}): SpawnSyncReturns<string> =>
  spawnSync('/bin/sh', ['-c', script], { ...options, encoding: 'utf8' });
const outcome = ({ status, signal, error, stdout }: SpawnSyncReturns<string | Buffer>): unknown => [
  status,
  signal,
  error === undefined ? null : codeOf(error),
  stdout,
];

const processes: Record<string, Behaviour> = {
  'exit codes and signals of children': () => [
    outcome(sh('exit 7')),
    outcome(sh('kill -TERM $$')),
    outcome(sh('kill -KILL $$')),
    outcome(spawnSync('/no/such/program')),
    outcome(spawnSync('/etc/passwd')),
    outcome(sh('exec sleep 60', { timeout: 200 })),
    outcome(
      sh('exec yes', {
        maxBuffer: 1000,
        stdio: ['ignore', 'ignore', 'pipe'],
        timeout: 200,
        killSignal: 'SIGKILL',
      }),
    ),
  ],
  'env, argv0, cwd, input': (folder) => [
    sh('echo "$A:$HOME"', { env: { A: 'b' } }).stdout,
    spawnSync('/bin/sh', ['-c', 'echo "$0"'], { argv0: 'other', encoding: 'utf8' }).stdout,
    sh('pwd', { cwd: fs.realpathSync(folder) }).stdout.trim() === fs.realpathSync(folder),
    sh('cat', { input: 'in' }).stdout,
    outcome(sh('exit 0', { cwd: '/no/such/folder' })),
  ],
  'a spawned child: events, groups, kill': async () => {
    const child = spawn('/bin/sh', ['-c', 'sleep 60 & echo $$; wait'], {
      detached: true,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const [line] = (await once(child.stdout, 'data')) as [Buffer];
    const isLeader = Number(line.toString()) === child.pid;
    process.kill(-(child.pid ?? 0), 'SIGTERM');
    const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
    return [
      isLeader,
      code,
      signal,
      child.exitCode,
      child.signalCode,
      child.killed,
      await tried(() => process.kill(child.pid ?? 0, 0)),
    ];
  },
  'a spawn that fails': async () => {
    const [error] = (await once(spawn('/no/such/program', []), 'error')) as [Error];
    return codeOf(error);
  },
  'an aborted child': async () => {
    const abort = new AbortController();
    const child = spawn('sleep', ['60'], { signal: abort.signal, stdio: 'ignore' });
    const error = new Promise((resolve) => child.once('error', (one: Error) => resolve(one.name)));
    const closed = once(child, 'close');
    abort.abort();
    return [await error, (await closed)[1] as unknown];
  },
  'descriptors beyond three': async () => {
    const child = spawn('/bin/sh', ['-c', 'echo three >&3'], {
      stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
    });
    const [text] = (await once(child.stdio[3] as NodeJS.ReadableStream, 'data')) as [Buffer];
    return text.toString();
  },
  'how this runtime ends': () =>
    [
      'process.exit(9)',
      'process.exitCode = 4',
      'throw new Error("x")',
      'Promise.reject(new Error("x"))',
      'process.kill(process.pid, "SIGTERM"); setTimeout(() => 0, 5000)',
      'process.on("SIGTERM", () => process.exit(3)); process.kill(process.pid, "SIGTERM"); setTimeout(() => 0, 5000)',
      'process.on("exit", (code) => { process.exitCode = code + 1 }); process.exitCode = 1',
    ].map((code) => outcome(spawnSync(process.execPath, ['-e', code], { encoding: 'utf8' }))),
};

/** Authorities, certificates and keys, from the test that runs this. */
const certificates = process.env['PARITY_CERTIFICATES'] ?? '';

async function handshake(name: string, { ca, host }: { ca?: string; host?: string }): Promise<unknown> {
  const at = (file: string): string => path.join(certificates, file);
  const server = tls.createServer(
    { key: fs.readFileSync(at(`${name}.key`)), cert: fs.readFileSync(at(`${name}.crt`)) },
    (socket) => socket.on('error', () => undefined).end('hello'),
  );
  server.on('tlsClientError', () => undefined);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as { port: number };
  const socket = tls.connect({
    port,
    host: '127.0.0.1',
    servername: host ?? 'localhost',
    ...(ca !== undefined && { ca: fs.readFileSync(at(ca)) }),
  });
  try {
    return await new Promise((resolve) => {
      socket.once('error', (error) => resolve(codeOf(error)));
      socket.once('data', (bytes: Buffer) =>
        resolve([bytes.toString(), socket.authorized, socket.getProtocol()]),
      );
    });
  } finally {
    socket.destroy();
    server.close();
  }
}

const trust: Record<string, Behaviour> = {
  'TLS: an unknown authority is refused': () => handshake('good', {}),
  'TLS: and a known one accepted': () => handshake('good', { ca: 'good.ca' }),
  'TLS: another authority is refused': () => handshake('good', { ca: 'other.ca' }),
  'TLS: an expired certificate is refused': () => handshake('expired', { ca: 'expired.ca' }),
  'TLS: another host name is refused': () => handshake('good', { ca: 'good.ca', host: 'example.org' }),
};

const gz = (text: string): Buffer => zlib.gzipSync(text);
const half = (bytes: Buffer): Buffer => bytes.subarray(0, bytes.length - 5);
const unpacked = (make: () => Buffer): Promise<unknown> => tried(() => make().toString());

const bytes: Record<string, Behaviour> = {
  'gzip: members, padding, garbage, a cut, a wrong sum': async () => {
    const broken = Buffer.from(gz('abc'));
    broken[broken.length - 8] = (broken.at(-8) ?? 0) ^ 1;
    const inputs = [
      Buffer.concat([gz('a'), gz('b')]),
      Buffer.concat([gz('a'), Buffer.alloc(512)]),
      Buffer.concat([gz('a'), Buffer.from('garbage')]),
      half(gz('abc')),
      broken,
      Buffer.from('not gzip'),
      Buffer.alloc(0),
    ];
    return await Promise.all(inputs.map((input) => unpacked(() => zlib.gunzipSync(input))));
  },
  'zstd and brotli: frames, a cut, garbage': async () => {
    const zstd = zlib.zstdCompressSync('abc');
    const brotli = zlib.brotliCompressSync('abc');
    return await Promise.all([
      unpacked(() => zlib.zstdDecompressSync(zstd)),
      unpacked(() => zlib.zstdDecompressSync(Buffer.concat([zstd, zstd]))),
      unpacked(() => zlib.zstdDecompressSync(Buffer.from('garbage!'))),
      unpacked(() => zlib.brotliDecompressSync(brotli)),
      unpacked(() => zlib.brotliDecompressSync(Buffer.from('garbage!'))),
    ]);
  },
  'streams of zlib: a cut and a limit are errors': async () => {
    const through = async (stream: NodeJS.ReadWriteStream, input: Buffer): Promise<unknown> =>
      await tried(async () => {
        const ended = once(stream, 'end');
        stream.resume();
        stream.end(input);
        await ended;
        return 'end';
      });
    return [
      await through(zlib.createGunzip(), gz('abc')),
      await through(zlib.createGunzip(), half(gz('abc'))),
      await through(zlib.createZstdDecompress(), half(zlib.zstdCompressSync('x'.repeat(9999)))),
      await tried(() => zlib.gunzipSync(gz('x'.repeat(9999)), { maxOutputLength: 10 }).length),
      zlib.crc32('abc'),
    ];
  },
  digests: () => [
    ...['md5', 'sha1', 'sha256', 'sha512'].map((name) => createHash(name).update('abc').digest('hex')),
    createHmac('sha256', 'key').update('abc').digest('base64url'),
    Buffer.from(hkdfSync('sha256', 'key', 'salt', 'info', 16)).toString('hex'),
  ],
  text: () => [
    new TextDecoder().decode(Buffer.from([0x61, 0xff, 0xc3, 0xa9, 0xef, 0xbb, 0xbf])),
    new TextDecoder('latin1').decode(Buffer.from([0xe9, 0x80])),
    new TextDecoder().decode(Buffer.from([0xef, 0xbb, 0xbf, 0x61])),
    Buffer.from('é\ud800').toString('hex'),
    'ß'.localeCompare('z'),
    ['b', 'A', 'a', 'é', 'z', '10', '9'].sort((a, b) => a.localeCompare(b)).join(),
    'Straße'.normalize('NFD').length,
    // Inserted: Bun writes other letters than ASCII as escapes into a raw template.
    String.raw`\d${'é'}`,
  ],
  'numbers, dates and time zones': () => [
    (1234567.891).toLocaleString('en-US'),
    new Intl.NumberFormat('en-US', { maximumFractionDigits: 1 }).format(12.25),
    new Date(0).toISOString(),
    new Date('2026-02-03T04:05:06').getTime() - new Date('2026-02-03').getTime(),
    [
      Date.parse('2026-02-30'),
      Date.parse('2026-02-03 04:05:06'),
      Date.parse('Tue, 03 Feb 2026 04:05:06 GMT'),
      Date.parse('nonsense'),
    ],
    new Intl.DateTimeFormat('en-GB', {
      timeZone: 'America/Chicago',
      dateStyle: 'short',
      timeStyle: 'short',
    }).format(0),
    new Date(0).toLocaleTimeString('en-GB', { timeZone: 'UTC' }),
  ],
  URLs: async () =>
    await Promise.all(
      [
        'osdf:///a/b c',
        'pelican://host.org/x%2Fy?d=1#z',
        'https://user:pw@HOST.org:443/../a/./b//c',
        'http://[::1]:80/x',
        'http://1.2.3/',
        'https://exämple.org/é',
        'http://a b/',
        '/only/a/path',
        'file:///x/%zz',
        'https://host/a\\b',
      ].map((text) => tried(() => [new URL(text).href, new URL(text).host, new URL(text).pathname])),
    ),
  timers: async () => {
    const abort = AbortSignal.timeout(20);
    const began = performance.now();
    const error = await sleep(5000, undefined, { signal: abort }).catch(
      (one: unknown) => (one as Error).name,
    );
    return [error, performance.now() - began < 4000, (abort.reason as Error).name];
  },
  machine: () => [
    os.platform(),
    os.arch(),
    os.availableParallelism() > 0,
    os.totalmem(),
    os.userInfo().uid,
    os.EOL,
  ],
};

/** What we rely on in Node's modules: `compare.test.ts` runs it under Node and Bun. */
export const behaviours: Record<string, Behaviour> = { ...files, ...processes, ...trust, ...bytes };

/** Prints the outcome of each, by name. */
if (import.meta.main) {
  const outcomes: Record<string, unknown> = {};
  for (const [name, behaviour] of Object.entries(behaviours)) {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'parity-'));
    outcomes[name] = await tried(() => behaviour(folder));
    fs.rmSync(folder, { recursive: true, force: true });
  }
  console.log(JSON.stringify(outcomes));
}
