import { html } from './dom.ts';
import type { ActionName } from './server.ts';

interface DialogText {
  title: string;
  /** The button that acts, and the one that does not. */
  yes: string;
  no: string;
  /** Class of the button that acts. */
  style: string;
  /** What it does to what is named, in sentences. */
  effect: (what: string) => string;
}

const texts: Record<ActionName, DialogText> = {
  stop: {
    title: 'Stop?',
    yes: 'Stop',
    no: 'Keep running',
    style: 'danger',
    effect: (what) => `This stops ${what}. Running attempts end; their checkpoints stay for a retry.`,
  },
  retry: {
    title: 'Try again?',
    yes: 'Try again',
    no: 'Leave it',
    style: 'act',
    effect: (what) =>
      `This tries ${what} again in the same run, with the files it was made with. What failed for a mistake in the training will fail again: fix that first, and use the command with --with-new-files.`,
  },
};

/** Asks before anything is done, and shows the command that does the same. `act` returns what went wrong, or nothing. */
export function actionDialog(action: ActionName, act: (jobs: string[]) => Promise<string>) {
  const { title, yes: yesText, no: noText, style, effect } = texts[action];
  const question = html('p', {});
  const command = html('code', {});
  const problem = html('p', { class: 'alarm', role: 'alert' });
  const yes = html('button', { type: 'button', class: style }, yesText);
  const no = html('button', { type: 'button' }, noText);
  const element = html(
    'dialog',
    { 'aria-labelledby': `${action}-title` },
    html('h2', { id: `${action}-title` }, title),
    question,
    html('p', {}, 'The same as a command: ', command),
    problem,
    html('div', { class: 'row' }, no, yes),
  );
  no.addEventListener('click', () => element.close());
  return {
    element,
    /** `same` is the equivalent command, `here` whether it can be done from this page; no jobs means all of them. */
    ask: (same: string, here: boolean, jobs: string[]) => {
      const all = action === 'stop' ? 'all jobs of the run' : 'all jobs without a valid result';
      const what = jobs.length === 0 ? all : `job ${jobs.join(', ')}`;
      question.textContent = here
        ? effect(what)
        : `The run is on another machine: ${yesText.toLowerCase()} there for ${what}, with this command.`;
      command.textContent = same;
      problem.textContent = '';
      yes.hidden = !here;
      yes.onclick = () => void run(jobs);
      element.showModal();
      no.focus();
    },
  };

  async function run(jobs: string[]) {
    yes.disabled = true;
    const wrong = await act(jobs).catch(() => 'The dashboard does not answer: was its command ended?');
    yes.disabled = false;
    problem.textContent = wrong;
    if (wrong === '') element.close();
  }
}
