import { createHash } from 'node:crypto';
import type { Policy } from '@portcullis/core/firewall/policy.ts';

/**
 * Equal for policies that give the same verdicts, in whichever order their fields were assembled. The target is
 * left out, because the policy of a prefix also applies to addresses without a policy of their own.
 */
export function policyFingerprint(policy: Policy): string {
  const { mitigations, baseline, geo, rules, filters } = policy;
  const rule = (one: Policy['rules'][number]): unknown[] => [
    one.ref,
    one.action,
    one.protocol,
    one.port,
    one.source,
  ];
  const content = [
    mitigations.map((one) => [
      one.ref,
      one.mode,
      one.protocol,
      one.sourcePort,
      one.destinationPort,
      one.source,
      one.safelist,
      one.fragment,
      one.limit && [
        one.limit.per,
        one.limit.pps,
        one.limit.unansweredOnly,
        ...(one.limit.answeredPps === undefined ? [] : [one.limit.answeredPps]),
      ],
    ]),
    baseline.map(rule),
    geo.map((one) => [one.ref, one.action, one.sets]),
    rules.map(rule),
    filters.map((one) => [one.ref, one.type, one.port, one.managed]),
    policy.default,
  ];
  return createHash('sha256').update(JSON.stringify(content)).digest('base64url');
}
