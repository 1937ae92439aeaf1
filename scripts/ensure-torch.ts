import { ensureTorch } from './debian.ts';

/** What `npm start` needs besides npm's packages; `updraft demo` says what is missing where this cannot install it. */
await ensureTorch({
  env: process.env,
  uid: process.getuid?.() ?? 0,
  signal: new AbortController().signal,
  say: (line, transient = false) => {
    if (!transient) process.stderr.write(`${line}\n`);
  },
}).catch((error: unknown) => process.stderr.write(`${String(error)}\n`));
