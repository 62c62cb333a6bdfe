import type { Attack } from '@portcullis/client/index.ts';
import { useNavigate } from '@tanstack/react-router';
import { useMemo } from 'react';
import { formatTick } from '../../format.ts';
import { messages } from '../../messages/index.ts';
import { lanesOf, ticksOf } from './lanes.ts';

const text = messages.attacks;
const MAX_LANES = 8;
const TICKS = 5;
/** The least width of a bar, so that a short attack that just ended is not cut off at the right. */
const LEAST_PX = 4;

interface Props {
  readonly attacks: readonly Attack[];
  /** The window, as the service used it. */
  readonly from: string;
  readonly to: string;
}

/** When which address was attacked. A picture of the table: what it leads to is there by keyboard too. */
export function Timeline({ attacks, from, to }: Props) {
  const navigate = useNavigate();
  const [fromMs, toMs] = [Date.parse(from), Date.parse(to)];
  const { lanes, hidden } = useMemo(
    () => lanesOf(attacks, { fromMs, toMs }, MAX_LANES),
    [attacks, fromMs, toMs],
  );
  const span = (toMs - fromMs) / 1000;
  return (
    <section className="card card-pad">
      <div role="img" aria-label={text.timelineLabel(attacks.length, lanes.length + hidden)}>
        {lanes.map(({ ip, bars }) => (
          <div key={ip} className="lane">
            <span className="mono">{ip}</span>
            <div className="lane-track">
              {bars.map(({ attack, left, width }) => (
                <div
                  key={attack.id}
                  className="lane-bar"
                  data-ongoing={attack.status === 'ongoing' ? '' : undefined}
                  title={`${messages.attackType(attack.attack_type)}, ${attack.peak_bps_formatted}`}
                  style={{ left: `min(${left}%, 100% - ${LEAST_PX}px)`, width: `${width}%` }}
                  onClick={() =>
                    void navigate({ to: '/attacks/$attack', params: { attack: attack.id } })
                  }
                />
              ))}
            </div>
          </div>
        ))}
        <div className="lane lane-axis">
          <span />
          <div>
            {ticksOf(fromMs, toMs, TICKS).map((tick) => (
              <span key={tick}>{formatTick(tick / 1000, { span, step: span / TICKS })}</span>
            ))}
          </div>
        </div>
      </div>
      <div className="row">
        <span className="legend ongoing">{text.ongoing}</span>
        <span className="legend">{text.ended}</span>
        {hidden > 0 && <span className="row-end dim">{text.otherLanes(hidden)}</span>}
      </div>
    </section>
  );
}
