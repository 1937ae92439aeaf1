export { describeFull, isFull, runFolderFull } from './journal/full-disk.ts';
export {
  agentHash,
  attemptFiles,
  attemptFolder,
  deliveredName,
  jobFileName,
  jobId,
  keptFolder,
  liveMark,
  noteFolders,
  resultsFolder,
  roundFolder,
  runFiles,
  runsFolder,
  sandboxFiles,
  submittedUrl,
} from './journal/layout.ts';
