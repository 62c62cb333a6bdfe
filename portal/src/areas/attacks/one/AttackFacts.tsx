import { formatBps, formatPps } from '@portcullis/core/attacks/format.ts';
import type { AttackEvidence } from '@portcullis/client/index.ts';
import { type Fact, Facts } from '../../../components/figures/Facts.tsx';
import { formatBytes, formatCount, formatDuration } from '../../../format.ts';
import { messages } from '../../../messages/index.ts';
import type { AttackView } from '../queries.ts';

const text = messages.attack;

/** An attack in a few numbers. */
export function AttackFacts({ view }: { readonly view: AttackView }) {
  const { attack, evidence, dropped, would_drop: would } = view;
  const lost = (name: string, { packets, bytes }: AttackView['dropped']): Fact => ({
    name,
    value: formatCount(packets),
    hint: text.packets(formatBytes(bytes)),
  });
  return (
    <Facts
      facts={[
        {
          name: text.peakBps,
          value: attack.peak_bps_formatted,
          hint: boundsOf(evidence?.peak_bps_bounds, formatBps),
        },
        {
          name: text.peakPps,
          value: attack.peak_pps_formatted,
          hint: boundsOf(evidence?.peak_pps_bounds, formatPps),
        },
        {
          name: text.lasted,
          value: formatDuration(Math.max(1, attack.duration_seconds)),
          hint: attack.status === 'ongoing' ? text.soFar : null,
        },
        lost(text.dropped, dropped),
        ...(would.packets > 0 ? [lost(text.wouldDrop, would)] : []),
      ]}
    />
  );
}

function boundsOf(
  bounds: AttackEvidence['peak_bps_bounds'] | undefined,
  format: (value: number) => string,
): string | null {
  if (bounds === null || bounds === undefined) return null;
  const { low, high } = bounds;
  return low === high ? text.exact : text.between(format(low), format(high));
}
