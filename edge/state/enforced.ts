import type { Policy, RefusedTarget } from '@portcullis/core/firewall/policy.ts';
import type { Desired } from '@portcullis/dataplane/desired.ts';

/**
 * What the kernel has after an apply of `desired`: refused targets are at their last good policy, which is that of
 * `before`. A restart begins with it, or it would have nothing for them.
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
