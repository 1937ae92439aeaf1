import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import https from 'node:https';
import type { AddressInfo, Server, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

export type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

interface Listener {
  server: http.Server | https.Server;
  port: number;
}

/** All servers listen here: a mini federation cannot be reached from other machines. */
export const loopback = '127.0.0.1';

/** One server on loopback, over https and http, that can go down and come back at the same addresses. */
export class WebServer {
  readonly name: string;
  readonly #handler: Handler;
  readonly #tls: { cert: string; key: string };
  readonly #ports = { https: 0, http: 0 };
  /** TCP connections by their ports: a reset must bypass TLS. */
  readonly #connections = new Map<string, Socket>();
  #listeners: Listener[] = [];
  #downs = 0;
  #stopped = false;
  #turn: Promise<void> = Promise.resolve();

  constructor(name: string, tls: { cert: string; key: string }, handler: Handler) {
    this.name = name;
    this.#tls = tls;
    this.#handler = handler;
  }

  get url(): string {
    return `https://${loopback}:${this.#ports.https}`;
  }

  get httpUrl(): string {
    return `http://${loopback}:${this.#ports.http}`;
  }

  async start(): Promise<void> {
    await this.#inTurn(() => this.#open());
  }

  /** Counted: the server comes up when every `down` has been undone. */
  async setDown(down: boolean): Promise<void> {
    this.#downs += down ? 1 : -1;
    await this.#inTurn(async () => {
      const open = this.#listeners.length > 0;
      if (this.#downs > 0 && open) await this.#close();
      if (this.#downs === 0 && !open && !this.#stopped) await this.#open();
    });
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#inTurn(() => this.#close());
  }

  /** Cuts the connection of this answer with a reset (RST) instead of an orderly end. */
  reset(response: ServerResponse): void {
    if (response.socket !== null) this.#connections.get(portsOf(response.socket))?.resetAndDestroy();
  }

  /** Runs changes one after another. */
  #inTurn(change: () => Promise<void>): Promise<void> {
    const turn = this.#turn.then(change);
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  async #open(): Promise<void> {
    const secure = https.createServer(this.#tls, (request, response) => this.#serve(request, response));
    const plain = http.createServer((request, response) => this.#serve(request, response));
    const both = [this.#listen(secure, this.#ports.https), this.#listen(plain, this.#ports.http)];
    const settled = await Promise.allSettled(both);
    this.#listeners = settled.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    await Promise.all(both);
    [this.#ports.https = 0, this.#ports.http = 0] = this.#listeners.map(({ port }) => port);
  }

  async #listen(server: http.Server | https.Server, port: number): Promise<Listener> {
    server.requestTimeout = 0;
    server.keepAliveTimeout = 60_000;
    (server as Server).on('connection', (socket) => this.#remember(socket));
    // A handshake that the client aborts is not our error.
    server.on('tlsClientError', () => undefined);
    await listenAgain(server, port);
    return { server, port: (server.address() as AddressInfo).port };
  }

  #remember(socket: Socket): void {
    const ports = portsOf(socket);
    this.#connections.set(ports, socket);
    socket.once('close', () => this.#connections.delete(ports));
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    response.on('error', () => undefined);
    this.#handler(request, response).catch((error: unknown) => {
      if (response.headersSent) {
        response.destroy();
        return;
      }
      const detail = error instanceof Error ? error.message : String(error);
      response.writeHead(500, { 'Content-Type': 'application/json' });
      response.end(JSON.stringify({ error: 'internal_error', detail }));
    });
  }

  async #close(): Promise<void> {
    const listeners = this.#listeners;
    this.#listeners = [];
    await Promise.all(
      listeners.map(async ({ server }) => {
        const closed = once(server, 'close');
        server.close();
        server.closeAllConnections();
        for (const socket of this.#connections.values()) socket.destroy();
        await closed;
      }),
    );
  }
}

/** Below the ephemeral ports, so that no outgoing connection takes the port while a server is down. */
export const randomPort = (): number => randomInt(20_000, 32_000);

/** Listens on a random free port, or again on the earlier one, which may be taken for a moment. */
async function listenAgain(server: Server, port: number): Promise<void> {
  for (let triesLeft = 100; ; triesLeft--) {
    server.listen(port === 0 ? randomPort() : port, loopback);
    try {
      await once(server, 'listening');
      return;
    } catch (error) {
      const isTaken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE';
      if (!isTaken || triesLeft === 0) throw error;
      if (port !== 0) await sleep(50);
    }
  }
}

const portsOf = ({ localPort, remotePort }: Socket): string => `${localPort ?? 0}-${remotePort ?? 0}`;
