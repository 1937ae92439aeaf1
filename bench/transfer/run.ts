import { parseArgs } from 'node:util';
import { bigFile } from './big-file.ts';
import { threeCaches } from './three-caches.ts';

/** `node bench/transfer/run.ts [big-file|three-caches] [--mebibytes 2048] [--rounds 5] [--only NAME]...`: prints Markdown tables. */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    mebibytes: { type: 'string', default: '2048' },
    rounds: { type: 'string', default: '5' },
    only: { type: 'string', multiple: true, default: [] },
  },
});
const [only] = positionals;
if (only !== 'three-caches') await bigFile(Number(values.mebibytes), Number(values.rounds), values.only);
if (only !== 'big-file') await threeCaches(Number(values.mebibytes), Number(values.rounds));
