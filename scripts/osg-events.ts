/** HTCondor's events as a pool like the OSPool writes them. Hosts are examples. */
const address = (name: string): string =>
  `<192.0.2.17:9618?addrs=192.0.2.17-9618&alias=${name}.example.org&noUDP&sock=slot1_1>`;

/** Where an attempt runs; the site is empty if the table does not name it. */
export interface Place {
  site: string;
  machine: string;
}

const slot = ({ machine }: Place): string => `slot1_1@${machine}.example.org`;

export const submitted = (): string => `000|Job submitted from host: ${address('ap')}`;

export const inputStarted = (place: Place): string =>
  `040|Started transferring input files\n\tTransferring to host: ${address(place.machine)}`;
export const inputFinished = (): string => '040|Finished transferring input files';
export const outputStarted = (): string => '040|Started transferring output files';
export const outputFinished = (): string => '040|Finished transferring output files';

/** The pool's event with attributes of the job's ad: here, its site. */
export const siteNamed = (place: Place): string =>
  `028|Job ad information event triggered.\nMachineAttrGLIDEIN_ResourceName0 = "${place.site}"\nTriggerEventTypeName = "ULOG_FILE_TRANSFER"\nTriggerEventTypeNumber = 40`;

export const executing = (place: Place): string =>
  `001|Job executing on host: ${address(place.machine)}\n\tSlotName: ${slot(place)}\n\tCpus = 1\n\tGLIDEIN_ResourceName = "${place.site}"\n\tGPUs = 1`;

export const stalled = (place: Place): string =>
  `007|Shadow exception!\n\tError from ${slot(place)}: FILETRANSFER: transfer of osdf input stalled: aborted due to lack of progress\n\t0  -  Run Bytes Sent By Job\n\t0  -  Run Bytes Received By Job`;

const notFound = (place: Place): string =>
  `Transfer input files failure at execution point ${slot(place)} using protocol osdf. Details: 404 page not found`;

export const transferHold = (place: Place): string =>
  `012|Job was held.\n\tTransfer input files failure at execution point ${slot(place)} using protocol osdf.\n\tCode 13 Subcode 256`;

/** The error, the eviction and the hold that report a missing object. */
export const missingInput = (place: Place): string[] => [
  `021|Error from starter on ${slot(place)}:\n\tFailed to transfer files: 404 page not found\n\tCode 12 Subcode 256`,
  `004|Job was evicted. Code 13 Subcode 256\n\t(0) CPU times\n${usages(['Run Remote', 'Run Local'])}\n\t0  -  Run Bytes Sent By Job\n\t0  -  Run Bytes Received By Job\n\tReason: ${notFound(place)}`,
  `012|Job was held.\n\t${notFound(place)}\n\tCode 13 Subcode 256`,
];

export const released = (): string => '013|Job was released.\n\tvia condor_release (by user alice)';

export const evicted = (): string =>
  `004|Job was evicted. Code 1011 Subcode 0\n\t(0) CPU times\n${usages(['Run Remote', 'Run Local'])}\n\t0  -  Run Bytes Sent By Job\n\t9216  -  Run Bytes Received By Job\n\tReason: The slot was preempted`;

export const overTime = (): string =>
  '012|Job was held.\n\tThe job exceeded allowed execute duration of 20:00:00\n\tCode 47 Subcode 0';

export function terminated(sent: number, seconds: { execute: number; slotBusy: number }): string {
  const bytes = ['Run', 'Total'].flatMap((scope) => [
    `\t${sent}  -  ${scope} Bytes Sent By Job`,
    `\t9216  -  ${scope} Bytes Received By Job`,
  ]);
  return [
    `005|Job terminated.\n\t(1) Normal termination (return value 0)`,
    usages(['Run Remote', 'Run Local', 'Total Remote', 'Total Local']),
    ...bytes,
    '\tPartitionable Resources :    Usage  Request Allocated ',
    `\t   TimeExecute (s)      : ${String(seconds.execute).padStart(8)}                    `,
    `\t   TimeSlotBusy (s)     : ${String(seconds.slotBusy).padStart(8)}                    `,
  ].join('\n');
}

function usages(names: string[]): string {
  return names.map((name) => `\t\tUsr 0 00:00:00, Sys 0 00:00:00  -  ${name} Usage`).join('\n');
}
