import type { EdgeAssignment } from '@portcullis/core/firewall/packet.ts';
import type { Policy, SourceSets } from '@portcullis/core/firewall/policy.ts';

/** The complete desired state of this edge as of one generation. */
export interface Desired {
  readonly generation: number;
  readonly policies: ReadonlyMap<string, Policy>;
  readonly sourceSets: SourceSets;
  readonly settings: EdgeAssignment;
  /**
   * Targets whose policy is older than the generation, with their own generation. Only a restart sets this, control
   * never does.
   */
  readonly behind?: ReadonlyMap<string, number>;
}
