import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { startFederation } from '@updraft/mini/federation';

// A federation in a separate process, so that its cost does not count for the training. Ends with its input.
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
// A real origin knows the digests of its objects; this one would read the entire object, which takes minutes.
await federation.trouble.add('all: digest-missing on *.tar');
const { discoveryHost, caFile, caches } = federation;
console.log(JSON.stringify({ discoveryHost, caFile, caches: caches.map(({ httpUrl }) => httpUrl) }));
await once(process.stdin.resume(), 'end');
