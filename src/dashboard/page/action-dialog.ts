import { html } from '@updraft/view/dom';
import type { ActionName } from './server.ts';

interface DialogText {
  title: string;
  /** Labels of the buttons. */
  yes: string;
  no: string;
  /** Class of the `yes` button. */
  style: string;
  effect: (what: string) => string;
}

const texts: Record<ActionName, DialogText> = {
  stop: {
    title: 'Stop?',
    yes: 'Stop',
    no: 'Keep running',
    style: 'danger',
    effect: (what) => `This stops ${what}. Running attempts end; their checkpoints are kept for a retry.`,
  },
  retry: {
    title: 'Try again?',
    yes: 'Try again',
    no: 'Leave it',
    style: 'act',
    effect: (what) =>
      `This tries ${what} again in the same run, with the original files. A job that failed because of an ` +
      'error in the training will fail again: fix the error first, and use the command with --with-new-files.',
  },
};

/** Asks for confirmation and shows the equivalent command. `act` returns an error message, or an empty one. */
export function actionDialog(
  action: ActionName,
  act: (jobs: string[]) => Promise<string>,
  labelOf: (id: string) => string,
) {
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
    html('p', {}, 'As a command: ', command),
    problem,
    html('div', { class: 'row' }, no, yes),
  );
  no.addEventListener('click', () => element.close());
  return {
    element,
    /** `same` is the equivalent command; an empty list means all jobs. */
    ask: (same: string, jobs: string[]) => {
      const all = action === 'stop' ? 'all jobs of the run' : 'all jobs without a valid result';
      const what = jobs.length === 0 ? all : `job ${jobs.map(labelOf).join(', ')}`;
      question.textContent = effect(what);
      command.textContent = same;
      problem.textContent = '';
      yes.onclick = () => void run(jobs);
      element.showModal();
      no.focus();
    },
  };

  async function run(jobs: string[]) {
    yes.disabled = true;
    const wrong = await act(jobs).catch(
      () => 'The dashboard does not answer: has `updraft dashboard` been stopped?',
    );
    yes.disabled = false;
    problem.textContent = wrong;
    if (wrong === '') element.close();
  }
}
