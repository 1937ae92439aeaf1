/** Files that a run on HTCondor has beside those of every run, by their path in its folder. */
export const condorFiles = {
  submit: 'condor/job.sub',
  /** A line for each job: its id, then what it is, for `condor_q`. */
  items: 'condor/jobs.items',
  /** The job's executable: unpacks the agent and becomes it. */
  launcher: 'condor/updraft-job',
  /** The same for the file-transfer plugin. In the run's folder itself: HTCondor looks for plugins under the path it is told. */
  plugin: 'updraft_plugin',
  agent: 'condor/updraft-agent.gz',
  orders: 'condor/orders',
  /** Files of the access point under names that need no quoting. */
  inputs: 'condor/inputs',
  /** What the launcher and the agent themselves printed. */
  said: 'condor/said',
  eventLog: 'events.log',
  /** Held by the process that submits. */
  submitting: 'condor/submitting',
} as const;
