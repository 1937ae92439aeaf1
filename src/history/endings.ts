import type { Ending } from './history.ts';

/** How an attempt ended, in a sentence for people who have no more than that. */
export const endings: Record<Ending, { said: string }> = {
  success: { said: 'It produced a valid result.' },
  'wrong-output': { said: 'It exited without a valid result.' },
  failed: { said: 'It failed.' },
  requeued: { said: 'It exited, and was put back into the queue.' },
  evicted: { said: 'The pool took the slot back.' },
  held: { said: 'It was held.' },
  removed: { said: 'It was removed.' },
  'transfer-failed': { said: 'A transfer failed.' },
  lost: { said: 'It exited without reporting why.' },
  running: { said: 'It is running.' },
};
