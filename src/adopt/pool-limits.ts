/** What a pool allows and asks for, as far as a submit description can break it. */
export interface PoolLimits {
  name: string;
  /** Input that the access point itself may send with one job; more is held with code 32. */
  inputMegabytes: number;
  /** Above this much from the access point the pool asks for its data federation instead. */
  adviseMegabytes: number;
  wantsProject: boolean;
  /** Values of `+JobDurationCategory`; empty where there is no such custom. */
  durationCategories: string[];
}

export const poolLimits: Record<'htcondor' | 'ospool' | 'chtc', PoolLimits> = {
  htcondor: {
    name: 'an HTCondor pool',
    inputMegabytes: 5000,
    adviseMegabytes: 1000,
    wantsProject: false,
    durationCategories: [],
  },
  ospool: {
    name: 'the OSPool',
    inputMegabytes: 5000,
    adviseMegabytes: 1000,
    wantsProject: true,
    durationCategories: ['Medium', 'Long'],
  },
  chtc: {
    name: 'CHTC',
    inputMegabytes: 5000,
    adviseMegabytes: 1000,
    wantsProject: false,
    durationCategories: [],
  },
};
