import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { osgLog } from '../../scripts/osg-log.ts';
import { readLogs } from '../../src/report/read-logs.ts';
import { sectionText } from '../../src/report/section-text.ts';
import { scratchFolder } from '../scratch.ts';
import { studySections } from './study-sections.ts';
import { studyView } from './study-view.ts';

/** `npm run bench -- study [LOG...]`: jobs by the definitions of the published study; its own 100 if no log is named. */
const logs = process.argv.slice(2);
if (logs.length === 0) {
  logs.push(path.join(scratchFolder('memory'), 'osg.log'));
  writeFileSync(logs[0] ?? '', osgLog());
}
const { jobs, ledger, report } = await readLogs(logs);
console.log(sectionText(studySections(studyView(jobs, ledger, report)), { width: 100, bar: '█' }));
