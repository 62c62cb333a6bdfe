import type { Policy, RefusedTarget } from '@portcullis/core/firewall/policy.ts';
import type { Desired } from '@portcullis/dataplane/desired.ts';

/**
 * The state of the kernel after an apply of `desired`. Refused targets have the policies of `before`, their last
 * accepted ones. A restart begins with this state, so that it has a policy for them.
 */
export function enforcedOf(
  desired: Desired,
  refused: readonly RefusedTarget[],
  before: Desired | null,
): Desired {
  if (refused.length === 0) return desired;
  const policies = new Map<string, Policy>(desired.policies);
  const behind = new Map(desired.behind);
  for (const { target, goodGeneration } of refused) {
    const good = goodGeneration === 0 ? undefined : before?.policies.get(target);
    if (good === undefined) {
      policies.delete(target);
      behind.delete(target);
    } else {
      policies.set(target, good);
      behind.set(target, goodGeneration);
    }
  }
  return { ...desired, policies, behind };
}
