/** A site of the mini pool: one startd with its own name, execute folder and slots. */
export interface Site {
  /** What jobs read as `GLIDEIN_ResourceName`. */
  name: string;
  hostname: string;
  cpus: number;
  memoryMegabytes: number;
  /** A GPU the site says it has; there is none behind it. */
  gpu?: { model: string; capability: number; memoryMegabytes: number; driver: number; count: number };
}

/** The three sites where most of the benchmark's hundred jobs ran. */
export const sites: Site[] = [
  {
    name: 'CHTC-Spark-CE1',
    hostname: 'spark-a001.chtc.example',
    cpus: 8,
    memoryMegabytes: 16000,
    gpu: { model: 'NVIDIA A100-SXM4-80GB', capability: 8, memoryMegabytes: 81000, driver: 12.4, count: 2 },
  },
  {
    name: 'PDX-Coeus-CE1',
    hostname: 'coeus-17.pdx.example',
    cpus: 8,
    memoryMegabytes: 16000,
    gpu: { model: 'Tesla V100-PCIE-16GB', capability: 7, memoryMegabytes: 16160, driver: 11.8, count: 1 },
  },
  { name: 'GP-ARGO-ksu-backfill', hostname: 'ksu-3.gp-argo.example', cpus: 8, memoryMegabytes: 16000 },
];

/** HTCondor's local name of a site's startd: letters and digits only. */
export const localName = (site: Site): string => site.name.replace(/[^A-Za-z0-9]/g, '');
