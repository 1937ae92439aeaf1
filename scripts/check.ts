import { gate } from './gate.ts';

const results = await gate(({ name, passed, output }) => {
  console.log(`${passed ? 'ok    ' : 'FAILED'} ${name}`);
  if (!passed) console.log(output.trimEnd());
});
process.exitCode = results.every((result) => result.passed) ? 0 : 1;
