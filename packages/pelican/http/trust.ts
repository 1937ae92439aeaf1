import fs from 'node:fs';
import path from 'node:path';
import tls from 'node:tls';
import type { Env } from '@updraft/base';
import { Fault } from '../fault.ts';

const variables = ['SSL_CERT_FILE', 'X509_CERT_DIR', 'NODE_EXTRA_CA_CERTS'];
const certificate = /-----BEGIN (?:TRUSTED )?CERTIFICATE-----[^-]+-----END (?:TRUSTED )?CERTIFICATE-----/g;

/**
 * Certificate authorities to trust: the built-in ones and those in `SSL_CERT_FILE`, `X509_CERT_DIR` and
 * `NODE_EXTRA_CA_CERTS` (each a PEM file or a folder of them). Undefined if none of the three names any: the runtime
 * then uses its default.
 */
export function readTrust(env: Env): string[] | undefined {
  const extra = variables.flatMap((variable) => {
    const place = env[variable];
    return place === undefined || place === '' ? [] : certificatesAt(variable, place);
  });
  if (extra.length === 0) return undefined;
  // The same authority has different line breaks in each place, and parsing one costs time.
  const all = [...tls.getCACertificates('default'), ...extra];
  return [...new Map(all.map((pem) => [pem.replace(/\s/g, ''), pem])).values()];
}

/** The certificates that travel with jobs: those of `SSL_CERT_FILE`, and nothing else that is in it, such as a key. */
export function sentAuthorities({ SSL_CERT_FILE: place = '' }: Env): string[] {
  return place === '' ? [] : certificatesAt('SSL_CERT_FILE', place);
}

/** What to print about a variable that names nothing; the site sets `X509_CERT_DIR`, not the user. */
export function missingTrust(env: Env): string[] {
  const isMissing = (name: string): boolean => (env[name] ?? '') !== '' && !fs.existsSync(env[name] ?? '');
  const gone = ['SSL_CERT_FILE', 'NODE_EXTRA_CA_CERTS'].filter(isMissing);
  return gone.map((name) => `${name}=${env[name] ?? ''} does not exist and is ignored: unset ${name}`);
}

const contexts = new WeakMap<string[], tls.SecureContext>();

/** Parsing a hundred authorities takes tens of milliseconds: done once for all connections with the same list. */
export function trustContext(ca: string[]): tls.SecureContext {
  const context = contexts.get(ca) ?? tls.createSecureContext({ ca });
  contexts.set(ca, context);
  return context;
}

function certificatesAt(variable: string, place: string): string[] {
  try {
    const isFolder = fs.statSync(place).isDirectory();
    const found = isFolder ? certificatesIn(place) : certificatesOf(place);
    if (found.length === 0) throw unusable(variable, place, 'contains no PEM certificate');
    return found;
  } catch (error) {
    if (error instanceof Fault) throw error;
    // A mini federation that is gone, or a folder of the site that a container lacks: most work needs neither.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw unusable(variable, place, `cannot be read: ${(error as Error).message}`);
  }
}

/** Grid folders mix certificates with revocation lists, policies and dangling links, which are skipped. */
function certificatesIn(folder: string): string[] {
  const found: string[] = [];
  for (const name of fs.readdirSync(folder).sort()) {
    try {
      found.push(...certificatesOf(path.join(folder, name)));
    } catch {
      continue;
    }
  }
  return found;
}

const certificatesOf = (file: string): string[] => fs.readFileSync(file, 'latin1').match(certificate) ?? [];

function unusable(variable: string, place: string, why: string): Fault {
  return new Fault('file-invalid', `${variable}=${place} ${why}`, {
    about: place,
    fix: `set ${variable} to PEM certificates of the authorities to trust, or unset it`,
  });
}
