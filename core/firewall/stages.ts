/**
 * What happens to a packet, in order: the one table that the reference evaluator walks and that data planes
 * are rendered from. A drop is final. A pass is final, or goes on to the filters, as the row says.
 */
export const STAGES = [
  { name: 'management', pass: 'final', needs: 'packet' },
  { name: 'needed-icmp', pass: 'final', needs: 'rate' },
  { name: 'fragment-limits', pass: 'none', needs: 'rate' },
  { name: 'return-traffic', pass: 'final', needs: 'connection' },
  { name: 'mitigations', pass: 'none', needs: 'packet' },
  { name: 'baseline', pass: 'to-filters', needs: 'packet' },
  { name: 'named-allows', pass: 'to-filters', needs: 'packet' },
  { name: 'geo', pass: 'none', needs: 'packet' },
  { name: 'rules', pass: 'to-filters', needs: 'packet' },
  { name: 'filters', pass: 'final', needs: 'connection' },
] as const satisfies readonly Stage[];

interface Stage {
  readonly name: string;
  /** What an allow of this stage means: the packet passes for good, goes on to the filters, or there is none. */
  readonly pass: 'final' | 'to-filters' | 'none';
  /** What the stage must know beside the policy: the packet alone, a rate, or connection state. */
  readonly needs: 'packet' | 'rate' | 'connection';
}

export type StageName = (typeof STAGES)[number]['name'];
