import type { Sampled } from './mitigation/plan-mitigations.ts';

/** The top sources and ports of a subject, largest first. May be estimated from samples. */
export interface SubjectTops {
  readonly subject: string;
  readonly sampled?: Sampled;
  readonly sources: readonly TopSource[];
  readonly sourcePorts: readonly TopPort[];
  readonly destinationPorts: readonly TopPort[];
}
export interface TopSource {
  readonly source: string;
  readonly packets: number;
}
export interface TopPort {
  readonly port: number;
  /** Absent: an older agent, or another protocol. */
  readonly protocol?: 'tcp' | 'udp';
  readonly packets: number;
}
/** The most entries per list and subject. */
export const MAX_TOPS = 10;
