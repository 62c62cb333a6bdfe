import type { Policy } from '@portcullis/core/firewall/policy.ts';
import type { Draw } from './draw.ts';

/** Some policies gone, some others in their place. */
export function mutated(
  draw: Draw,
  policies: readonly Policy[],
  targets: readonly string[],
): Policy[] {
  const gone = new Set(draw.some(targets, 8));
  const fresh = draw.policies(draw.some(targets, 8));
  for (const { target } of fresh) gone.add(target);
  return [...policies.filter(({ target }) => !gone.has(target)), ...fresh];
}
