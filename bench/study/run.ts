import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { osgLog, wrongOutputs } from '../../scripts/osg-log.ts';
import { logSources } from '@updraft/htcondor/eventlog';
import { readLogs } from '@updraft/account/report';
import { documentText } from '@updraft/view/document';
import { scratchFolder } from '../scratch.ts';
import { epochSections } from './epochs.ts';
import { studySections } from './study-sections.ts';
import { studyView } from './study-view.ts';

/** `npm run bench -- study [LOG...]`: jobs by the definitions of the published study (default: its own 100 jobs). */
const page = { width: 100, glyphs: { done: '█', running: '▒', failed: '×', idle: '·' } };
const logs = process.argv.slice(2);
const isStudy = logs.length === 0;
if (isStudy) {
  logs.push(path.join(scratchFolder('memory'), 'osg.log'));
  writeFileSync(logs[0] ?? '', osgLog());
}
const { jobs, ledger, report } = await readLogs(await logSources(logs), { invalid: wrongOutputs() });
const small = isStudy ? epochSections() : [];
process.stdout.write(documentText([...studySections(studyView(jobs, ledger, report)), ...small], 100, page));
