import { html } from './dom.js';

/**
 * Asks before anything is stopped, and shows the command that does the same.
 *
 * @param {(jobs: string[]) => Promise<string>} stop gives what went wrong, or nothing
 */
export function stopDialog(stop) {
  const question = html('p', {});
  const command = html('code', {});
  const problem = html('p', { class: 'alarm', role: 'alert' });
  const yes = html('button', { type: 'button', class: 'danger' }, 'Stop');
  const no = html('button', { type: 'button' }, 'Keep running');
  const element = html(
    'dialog',
    { 'aria-labelledby': 'stop-title' },
    html('h2', { id: 'stop-title' }, 'Stop?'),
    question,
    html('p', {}, 'The same as a command: ', command),
    problem,
    html('div', { class: 'row' }, no, yes),
  );
  no.addEventListener('click', () => element.close());
  return {
    element,
    /**
     * @param {string} same the equivalent command
     * @param {boolean} here whether it can be done from this page
     * @param {string[]} jobs all when empty
     */
    ask: (same, here, jobs) => {
      const what = jobs.length === 0 ? 'all jobs of the run' : `job ${jobs.join(', ')}`;
      question.textContent = here
        ? `This stops ${what}. Attempts that run now are lost, save what they can and clean up.`
        : `The run is on another machine: stop ${what} there, with this command.`;
      command.textContent = same;
      problem.textContent = '';
      yes.hidden = !here;
      yes.onclick = () => void act(jobs);
      element.showModal();
      no.focus();
    },
  };

  /** @param {string[]} jobs */
  async function act(jobs) {
    yes.disabled = true;
    const wrong = await stop(jobs).catch(() => 'The dashboard does not answer: was its command ended?');
    yes.disabled = false;
    problem.textContent = wrong;
    if (wrong === '') element.close();
  }
}
