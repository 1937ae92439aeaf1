/** The help of the commands that list and clean up runs. */
export const runsHelpTexts = {
  runs: {
    what: 'list the runs of this folder, the latest first',
    page: 'run-folder.md',
    examples: [
      ['updraft runs', 'name, pool, state, jobs and when each was started'],
      ['updraft runs --json | jq -r ".[].run"', 'the names, for a script'],
    ],
  },
  'runs rm': {
    what: 'remove runs that have ended, with their results',
    page: 'run-folder.md',
    examples: [
      ['updraft runs rm cifar10-20261116T093000_1a2b', 'shows it, and asks'],
      ['updraft runs rm --yes RUN OTHER-RUN', 'without asking'],
    ],
  },
  'runs archive': {
    what: 'pack runs that have ended into one file each, and remove their folders',
    page: 'run-folder.md',
    examples: [
      ['updraft runs archive cifar10-20261116T093000_1a2b', 'writes runs/NAME.tar.gz'],
      ['updraft runs archive --to /staging/me RUN', 'writes it to another disk'],
    ],
  },
} as const;
