import type { ImageFact } from '../check/facts.ts';
import { createLocator } from '@updraft/pelican/federation';
import { type ControlAnswer, createRequest, type Request } from '@updraft/pelican/http';
import type { Asking } from './asking.ts';
import { type Gathered, nothingGathered, notChecked, reasonOf } from './gathered.ts';

/** Where an image is kept: `docker://python:3.12` is library/python on Docker Hub. */
interface ImageName {
  /** Base URL of the registry. */
  registry: string;
  repository: string;
  /** A tag or a digest. */
  reference: string;
}

const manifestKinds = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
  'application/vnd.docker.distribution.manifest.v2+json',
].join(', ');

function parseImage(url: string): ImageName | undefined {
  const [, name] = /^(?:docker|oras):\/\/(.+)$/i.exec(url) ?? [];
  const [, host, repository, reference = 'latest'] =
    /^(?:(localhost(?::\d+)?|[\w-]+(?:\.[\w.-]+|:\d+)(?::\d+)?)\/)?([\w./-]+?)(?:[:@]([\w.:-]+))?$/.exec(
      name ?? '',
    ) ?? [];
  if (repository === undefined) return undefined;
  if (host === undefined || host === 'docker.io') {
    const full = repository.includes('/') ? repository : `library/${repository}`;
    return { registry: 'https://registry-1.docker.io', repository: full, reference };
  }
  const scheme = /^(?:localhost|127\.)/.test(host) ? 'http' : 'https';
  return { registry: `${scheme}://${host}`, repository, reference };
}

/** Asks an image's registry for it, as a worker would: without a login. */
export async function askRegistry(
  asking: Asking,
  url: string,
  timeoutMs: number,
): Promise<Gathered<ImageFact | undefined>> {
  const name = parseImage(url);
  if (name === undefined) return nothingGathered;
  const signal = AbortSignal.any([asking.signal, AbortSignal.timeout(timeoutMs)]);
  try {
    const request = createRequest(createLocator(asking).wire);
    const { status } = await askManifest((one) => request({ ...one, signal, redirects: 3 }), name);
    const { host } = new URL(name.registry);
    if (status === 200)
      return { facts: { url, host, status }, looked: [{ what: url, said: `${host} has it` }], unchecked: [] };
    if ([401, 403, 404].includes(status)) return { facts: { url, host, status }, looked: [], unchecked: [] };
    return notChecked(undefined, url, `${host} answers ${status}`);
  } catch (error) {
    asking.signal.throwIfAborted();
    return notChecked(undefined, url, reasonOf(error));
  }
}

/** Registries give a token to anyone who asks for a public image, even for one that does not exist. */
async function askManifest(
  request: Request,
  { registry, repository, reference }: ImageName,
): Promise<ControlAnswer> {
  const ask = (headers: Record<string, string> = {}): Promise<ControlAnswer> =>
    request({
      method: 'HEAD',
      url: `${registry}/v2/${repository}/manifests/${reference}`,
      headers: { Accept: manifestKinds, ...headers },
    });
  const first = await ask();
  const challenge = first.headers['www-authenticate'] ?? '';
  if (first.status !== 401 || !/^bearer /i.test(challenge)) return first;
  const part = (key: string): string => new RegExp(`${key}="([^"]*)"`).exec(challenge)?.[1] ?? '';
  const realm = URL.parse(part('realm'));
  if (realm === null) return first;
  realm.searchParams.set('service', part('service'));
  realm.searchParams.set('scope', `repository:${repository}:pull`);
  const given = await request({ method: 'GET', url: realm.href });
  if (given.status !== 200) return given;
  const { token, access_token: other } = JSON.parse(given.body) as { token?: string; access_token?: string };
  return await ask({ Authorization: `Bearer ${token ?? other ?? ''}` });
}
