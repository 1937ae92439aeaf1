export { describeFull, isFull, runFolderFull } from './journal/full-disk.ts';
export {
  agentHash,
  attemptFiles,
  attemptFolder,
  deliveredName,
  jobFileName,
  jobFileNames,
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
