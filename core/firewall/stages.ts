/**
 * The stages of evaluation in order: the one table for the reference evaluator and for the data planes. A drop is
 * final. A pass is final or continues to the filters, as the row says.
 */
export const STAGES = [
  { name: 'management', pass: 'final', needs: 'packet' },
  { name: 'needed-icmp', pass: 'final', needs: 'rate' },
  { name: 'fragment-limits', pass: 'none', needs: 'rate' },
  { name: 'return-traffic', pass: 'final', needs: 'connection' },
  { name: 'mitigations', pass: 'none', needs: 'packet' },
  { name: 'baseline', pass: 'to-filters', needs: 'packet' },
  { name: 'blocked-sources', pass: 'none', needs: 'packet' },
  { name: 'named-allows', pass: 'to-filters', needs: 'packet' },
  { name: 'geo', pass: 'none', needs: 'packet' },
  { name: 'rules', pass: 'to-filters', needs: 'packet' },
  { name: 'default', pass: 'none', needs: 'packet' },
  { name: 'filters', pass: 'final', needs: 'connection' },
] as const satisfies readonly Stage[];

interface Stage {
  readonly name: string;
  /** The meaning of an allow in this stage: a final pass, a pass to the filters, or none. */
  readonly pass: 'final' | 'to-filters' | 'none';
  /** The input of the stage beside the policy: the packet alone, a rate, or connection state. */
  readonly needs: 'packet' | 'rate' | 'connection';
}

export type StageName = (typeof STAGES)[number]['name'];
