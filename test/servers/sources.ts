import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { TestContext } from 'node:test';
import type { Env } from '@updraft/base';
import { makeCertificateAuthority } from '@updraft/mini/testing';
import { type ServerModel, startFederation } from '@updraft/mini/federation';
import { temporaryFolder } from '../temporary-folder.ts';
import { cuttingProxy } from './cutting-proxy.ts';
import { needProgram } from './debian-packages.ts';
import { startNginx } from './nginx.ts';
import { startSite, type Version, xrootdVersions } from './xrootd.ts';

/** A source of objects, for as long as a test runs. */
export interface Source {
  /** Files in this folder are published. */
  folder: string;
  /** Base URL of the folder, as a user writes it. */
  url: string;
  /** The environment that the client needs. */
  env: Env;
  /** URL of a server that holds the objects, for direct requests. */
  serverUrl: string;
  /** Breaks, once, a connection that has carried this many bytes. */
  cutOnce(bytes: number): unknown;
  /** Stalls, once, a connection that has carried this many bytes. */
  stallOnce(bytes: number): unknown;
  offers: { listing: boolean; digests: boolean };
  /** How many requests the origin has had, if it counts them. */
  originRequests?(): number;
}

type Start = (t: TestContext) => Promise<Source | undefined>;

const miniFederation =
  (like?: ServerModel): Start =>
  async (t) => {
    const folder = await temporaryFolder(t);
    const namespaces = [{ prefix: '/demo', folder, public: true }];
    const federation = await startFederation({ namespaces, like });
    t.after(() => federation.stop());
    return {
      folder,
      url: 'osdf:///demo',
      offers: { listing: true, digests: true },
      env: { UPDRAFT_OSDF_HOST: federation.discoveryHost, SSL_CERT_FILE: federation.caFile },
      serverUrl: `${federation.caches[0]?.httpUrl ?? ''}/demo`,
      originRequests: () => federation.counters.server('origin').requests,
      cutOnce: (bytes) => federation.trouble.add(`caches: reset after ${bytes} first 1`),
      stallOnce: (bytes) => federation.trouble.add(`caches: stall after ${bytes} first 1`),
    };
  };

const nginx: Start = async (t) => {
  const file = needProgram(t, 'nginx', ['nginx-light']);
  if (file === undefined) return undefined;
  const own = await temporaryFolder(t);
  const folder = path.join(own, 'published');
  await mkdir(folder);
  const authority = makeCertificateAuthority('Contract tests', Date.now());
  const ca = path.join(own, 'ca.pem');
  await writeFile(ca, authority.certificate);
  const tls = authority.issue(['127.0.0.1']);
  const server = await startNginx(file, { folder: own, root: folder, tls });
  t.after(() => server.stop());
  const proxy = await cuttingProxy(t, server.url);
  return {
    folder,
    url: proxy.url,
    offers: { listing: false, digests: false },
    env: { SSL_CERT_FILE: ca },
    serverUrl: server.httpUrl,
    cutOnce: (bytes) => proxy.cutOnce(bytes),
    stallOnce: (bytes) => proxy.stallOnce(bytes),
  };
};

const xrootdOf =
  (version: Version): Start =>
  async (t) => {
    const xrootd = await version(t);
    if (xrootd === undefined) return undefined;
    const site = await startSite(t, xrootd);
    const proxy = await cuttingProxy(t, site.cache.url);
    const federation = await startFederation({
      namespaces: [{ prefix: '/demo', folder: site.folder, public: true }],
      servers: { origin: site.origin.url, caches: [proxy.url] },
      caches: 0,
    });
    t.after(() => federation.stop());
    return {
      folder: site.folder,
      url: 'osdf:///demo',
      offers: { listing: true, digests: true },
      env: {
        UPDRAFT_OSDF_HOST: federation.discoveryHost,
        SSL_CERT_FILE: await site.trust(federation.caFile),
      },
      serverUrl: `${site.cache.httpUrl}/demo`,
      cutOnce: (bytes) => proxy.cutOnce(bytes),
      stallOnce: (bytes) => proxy.stallOnce(bytes),
    };
  };

/** Every kind of source that users have, each as real as this machine allows. */
export const sources: Record<string, Start> = {
  'the small federation': miniFederation(),
  "the small federation like Pelican's Go servers": miniFederation('pelican-go'),
  'the small federation like XRootD': miniFederation('xrootd'),
  'nginx over https': nginx,
  ...Object.fromEntries(
    Object.entries(xrootdVersions).map(([name, version]) => [
      `${name}: an origin and a caching proxy over TLS, behind our director`,
      xrootdOf(version),
    ]),
  ),
};
