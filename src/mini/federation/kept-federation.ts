import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { identifyProcess, livenessOf, type ProcessIdentity } from '../../base/process-identity.ts';
import { startAdmin, type AdminAccess } from './admin.ts';
import {
  startFederation,
  type FederationOptions,
  type MiniFederation,
  type ServerAddress,
} from './federation.ts';

/** What a running federation leaves in its state folder for other commands; readable by its user alone. */
export interface KeptState {
  process: ProcessIdentity;
  discoveryHost: string;
  discoveryUrl: string;
  caFile: string;
  director: ServerAddress;
  origin: ServerAddress;
  caches: ServerAddress[];
  namespaces: { prefix: string; folder: string; public: boolean; writable: boolean; tokenFile?: string }[];
  admin: AdminAccess;
}

/** A federation that other processes can find by its state folder. */
export interface KeptFederation {
  state: KeptState;
  stop(): Promise<void>;
}

function stateFile(folder: string): string {
  return path.join(folder, 'federation.json');
}

/** The federation of this state folder, if its process still runs. */
export async function findKept(folder: string): Promise<KeptState | undefined> {
  const text = await readFile(stateFile(folder), 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  const state = JSON.parse(text) as KeptState;
  return livenessOf(state.process) === 'alive' ? state : undefined;
}

/** Starts a federation in this process and tells others of it through the folder, with a token file per protected namespace. */
export async function keepFederation(
  folder: string,
  pid: number,
  options: FederationOptions & { trouble: string[] },
): Promise<KeptFederation> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await using started = new AsyncDisposableStack();
  const federation = started.use(await startFederation({ ...options, folder }));
  for (const rule of options.trouble) await federation.trouble.add(rule);
  const admin = await startAdmin(federation);
  started.defer(() => admin.stop());
  const namespaces = await Promise.all(options.namespaces.map((each) => keepToken(folder, federation, each)));
  const { discoveryHost, discoveryUrl, caFile, director, origin, caches } = federation;
  const state: KeptState = {
    process: identifyProcess(pid) ?? { pid, start: '', host: '' },
    discoveryHost,
    discoveryUrl,
    caFile,
    director,
    origin,
    caches,
    namespaces,
    admin: { url: admin.url, key: admin.key },
  };
  const tokens = namespaces.flatMap(({ tokenFile }) => tokenFile ?? []);
  started.defer(() => removeAll([stateFile(folder), caFile, ...tokens]));
  await writeSecret(stateFile(folder), `${JSON.stringify(state, undefined, 2)}\n`);
  const running = started.move();
  return { state, stop: () => running.disposeAsync() };
}

async function removeAll(files: string[]): Promise<void> {
  for (const file of files) await rm(file, { force: true });
}

async function keepToken(
  folder: string,
  federation: MiniFederation,
  { prefix, folder: published, ...each }: FederationOptions['namespaces'][number],
): Promise<KeptState['namespaces'][number]> {
  const shown = { prefix, folder: published, public: each.public, writable: each.writable === true };
  if (shown.public && !shown.writable) return shown;
  const tokenFile = path.join(folder, `token${prefix.replaceAll('/', '-')}`);
  await writeSecret(
    tokenFile,
    `${federation.issueToken({ namespace: prefix, expiresInSeconds: 7 * 24 * 3600 })}\n`,
  );
  return { ...shown, tokenFile };
}

async function writeSecret(file: string, text: string): Promise<void> {
  const draft = `${file}.draft`;
  await writeFile(draft, text, { mode: 0o600 });
  await rename(draft, file);
}
