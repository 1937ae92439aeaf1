import { parseArgs } from 'node:util';
import { bigFile } from './big-file.ts';
import { proven } from './proven.ts';
import { threeCaches } from './three-caches.ts';

/** `node bench/transfer/run.ts [big-file|three-caches|proven] [--mebibytes 2048] [--rounds 5] [--only NAME]... [--beside CHECKOUT]`: prints Markdown tables. */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    mebibytes: { type: 'string', default: '2048' },
    rounds: { type: 'string', default: '5' },
    beside: { type: 'string' },
    only: { type: 'string', multiple: true, default: [] },
  },
});
const [course] = positionals;
const [mebibytes, rounds] = [Number(values.mebibytes), Number(values.rounds)];
const isAsked = (name: string): boolean => course === undefined || course === name;
if (isAsked('big-file')) await bigFile(mebibytes, rounds, values.only);
if (isAsked('three-caches')) await threeCaches(mebibytes, rounds);
if (isAsked('proven')) await proven(mebibytes, rounds, { only: values.only, beside: values.beside });
