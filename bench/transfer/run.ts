import { parseArgs } from 'node:util';
import { bigFile } from './big-file.ts';

/** `node bench/transfer/run.ts [--mebibytes 2048] [--rounds 5]`: prints Markdown tables. */
const { values } = parseArgs({
  options: { mebibytes: { type: 'string', default: '2048' }, rounds: { type: 'string', default: '5' } },
});
await bigFile(Number(values.mebibytes), Number(values.rounds));
