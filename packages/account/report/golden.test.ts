import assert from 'node:assert/strict';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { loadRun } from '../journal/load-run.ts';
import { runReport } from './read-run.ts';
import { runText } from './report-text.ts';
import { sections } from './sections.ts';

const cases = path.join(import.meta.dirname, '../../../test/journals');

// To accept a change: remove the expected files, run this twice, and read the diff.
for (const name of readdirSync(cases))
  test(`the journals of ${name} give the expected state and report`, async (t) => {
    const folder = path.join(cases, name);
    const state = await loadRun(folder);
    // File times depend on the checkout.
    for (const attempt of state.jobs.flatMap(({ attempts }) => attempts)) delete attempt.heardAt;
    const report = runReport(folder, state);
    const page = { width: 100, glyphs: { done: '█', running: '▒', failed: '×', idle: '·' } };
    const got = {
      'expected-state.json': `${JSON.stringify(state, null, 2)}\n`,
      'expected-report.txt': `${runText(report, sections(report, { jobRows: report.jobRows }), page)}\n`,
    };
    for (const [file, text] of Object.entries(got)) {
      const expected = path.join(folder, file);
      if (existsSync(expected)) assert.equal(text, await readFile(expected, 'utf8'), file);
      else {
        writeFileSync(expected, text);
        t.diagnostic(`wrote ${expected}`);
        assert.fail(`${expected} was missing and has been written: read it, then run this again`);
      }
    }
  });
