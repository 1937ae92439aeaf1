import { test } from 'node:test';
import { passInPython } from './in-python.ts';

test('a training in several processes resumes at the very next batch, also in fewer', async (t) => {
  await passInPython(t, ['test_ranks']);
});
