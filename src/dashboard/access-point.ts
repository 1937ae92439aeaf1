/** What can be seen of this machine without asking anybody. */
export interface MachineFacts {
  hostname: string;
  /** HTCondor is configured for the whole machine. */
  hasCondor: boolean;
  /** A `condor_schedd` of somebody else, such as the system's, runs here. */
  hasSchedd: boolean;
}

const knownNames =
  /(^ap\d*\.|^login\d*\.|\.)(osg-htc\.org|osgconnect\.net|opensciencegrid\.org)$|\.chtc\.wisc\.edu$/i;

/** Why this machine is taken for an access point, on which no server may run; undefined when it is none. Pure. */
export function accessPointReason({ hostname, hasCondor, hasSchedd }: MachineFacts): string | undefined {
  if (knownNames.test(hostname)) return `its name is ${hostname}`;
  if (hasSchedd) return 'the condor_schedd of a pool runs here';
  return hasCondor && /^(ap|submit|login)\d*[.-]/i.test(hostname)
    ? `it is called ${hostname} and HTCondor is set up for it`
    : undefined;
}
