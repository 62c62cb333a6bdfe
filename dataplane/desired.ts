import type { EdgeAssignment } from '@portcullis/core/firewall/packet.ts';
import type { Policy, SourceSets } from '@portcullis/core/firewall/policy.ts';

/** Everything that control wants of this edge, whole, as of one generation. */
export interface Desired {
  readonly generation: number;
  readonly policies: ReadonlyMap<string, Policy>;
  readonly sourceSets: SourceSets;
  readonly settings: EdgeAssignment;
  /** Targets whose policy here is an older one, with its generation. Control sends none; a restart begins with it. */
  readonly behind?: ReadonlyMap<string, number>;
}
