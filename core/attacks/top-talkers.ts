import type { Sampled } from './respond.ts';

/** Who sends the most to a subject, and from and to which ports; largest first. May be estimated from samples. */
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
  /** Missing: an older agent does not tell it, or it is another one's. */
  readonly protocol?: 'tcp' | 'udp';
  readonly packets: number;
}
/** Of each kind, of each subject. */
export const MAX_TOPS = 10;
