import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { startFederation } from '../../src/mini/federation/federation.ts';

// A federation in a process of its own, so that what it costs is not the training's. Ends with its input.
const { values } = parseArgs({
  options: {
    folder: { type: 'string', default: '' },
    caches: { type: 'string', default: '2' },
    rate: { type: 'string', default: '100MB/s' },
    publish: { type: 'string', multiple: true, default: [] },
  },
});
const namespaces = values.publish.map((word) => {
  const [prefix = '', folder = ''] = word.split('=');
  return { prefix, folder, public: true };
});
await using federation = await startFederation({
  namespaces,
  caches: Number(values.caches),
  folder: values.folder,
});
for (const { name } of federation.caches) await federation.trouble.add(`${name}: limit ${values.rate}`);
// A real origin has the digests of its objects at hand; this one reads all of an object, which takes it minutes.
await federation.trouble.add('all: digest-missing on *.tar');
const { discoveryHost, caFile, caches } = federation;
console.log(JSON.stringify({ discoveryHost, caFile, caches: caches.map(({ httpUrl }) => httpUrl) }));
await once(process.stdin.resume(), 'end');
