import type { ScopeSettings } from '@portcullis/core/attacks/detector/scope-settings.ts';
import type { Family } from '@portcullis/core/net/address.ts';
import { formatNetwork, parseCidr } from '@portcullis/core/net/cidr.ts';
import type { Scope } from './scope.ts';
import type { DetectionText } from '../schema/schema.ts';

/** Parses the thresholds, mitigation mode and safelist of one scope. */
export function parseDetection(text: DetectionText, scope: Scope): ScopeSettings {
  const { thresholds, mitigation, safelist } = text;
  return {
    pps: thresholds?.pps ?? null,
    mbps: thresholds?.mbps ?? null,
    holdSeconds: thresholds?.hold_seconds ?? null,
    mitigation: mitigation ?? null,
    safelist: parseSafelist(safelist ?? [], scope.in('safelist')),
  };
}

/** Shortest prefix lengths of a safelist: wider networks would exempt nearly all sources from mitigation. */
const WIDEST: Readonly<Record<Family, number>> = { 4: 8, 6: 16 };

function parseSafelist(texts: readonly string[], scope: Scope): string[] {
  for (const [index, text] of texts.entries()) {
    const cidr = parseCidr(text);
    if (!cidr.ok || cidr.value.length >= WIDEST[cidr.value.family]) continue;
    scope
      .in(index)
      .refuse(
        `${text} would keep nearly everybody from being mitigated; a safelist names networks of at most /${WIDEST[4]} (IPv4) or /${WIDEST[6]} (IPv6). To do nothing, write "mitigation: off".`,
      );
  }
  return scope.cidrs(texts).map(shortest).toSorted();
}

/** A single address without its length, as in policies. */
function shortest(cidr: string): string {
  const parsed = parseCidr(cidr);
  return parsed.ok ? formatNetwork(parsed.value) : cidr;
}
