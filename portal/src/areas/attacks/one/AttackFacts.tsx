import { formatBps, formatPps } from '@portcullis/core/attacks/format.ts';
import type { AttackEvidence } from '@portcullis/client/index.ts';
import { formatBytes, formatCount, formatDuration } from '../../../format.ts';
import { messages } from '../../../messages/index.ts';
import type { AttackView } from '../queries.ts';

const text = messages.attack;

/** An attack in a few numbers. */
export function AttackFacts({ view }: { readonly view: AttackView }) {
  const { attack, evidence, dropped, would_drop: would } = view;
  const isOngoing = attack.status === 'ongoing';
  return (
    <dl className="facts">
      <Fact
        title={text.peakBps}
        value={attack.peak_bps_formatted}
        hint={boundsOf(evidence?.peak_bps_bounds, formatBps)}
      />
      <Fact
        title={text.peakPps}
        value={attack.peak_pps_formatted}
        hint={boundsOf(evidence?.peak_pps_bounds, formatPps)}
      />
      <Fact
        title={text.lasted}
        value={formatDuration(Math.max(1, attack.duration_seconds))}
        hint={isOngoing ? text.soFar : null}
      />
      <Fact
        title={text.dropped}
        value={formatCount(dropped.packets)}
        hint={text.packets(formatBytes(dropped.bytes))}
      />
      {would.packets > 0 && (
        <Fact
          title={text.wouldDrop}
          value={formatCount(would.packets)}
          hint={text.packets(formatBytes(would.bytes))}
        />
      )}
    </dl>
  );
}

interface FactProps {
  readonly title: string;
  readonly value: string;
  readonly hint: string | null;
}

function Fact({ title, value, hint }: FactProps) {
  return (
    <div className="fact">
      <dt>{title}</dt>
      <dd>
        {value} {hint !== null && <small>{hint}</small>}
      </dd>
    </div>
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
