import { test } from 'node:test';
import { pathToFileURL } from 'node:url';

/** Runs the tests of several files in this process: to start one for each takes longer than most of them. */
for (const file of process.argv.slice(2))
  await import(pathToFileURL(file).href).catch((error: unknown) =>
    // As a failure of its own: the other files are tested all the same.
    test(`${file} can be loaded`, () => {
      throw error;
    }),
  );
