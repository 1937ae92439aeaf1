/** What a pool allows and asks for, as far as a submit description can break it. */
export interface PoolLimits {
  /** As its users call it. */
  title: string;
  /** Input that the access point itself may send with one job; more is held with code 32. */
  inputBytes: number;
  /** Above this much from the access point the pool asks for its data federation instead. */
  adviseBytes: number;
  wantsProject: boolean;
  /** Values of `+JobDurationCategory`; empty where there is no such custom. */
  durationCategories: string[];
}
