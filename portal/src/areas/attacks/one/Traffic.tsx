import { SegmentedControl } from '@mantine/core';
import { formatBps, formatPps } from '@portcullis/core/attacks/format.ts';
import { ChartLine } from 'lucide-react';
import { useMemo, useState } from 'react';
import { Chart, type Mark } from '../../../components/figures/Chart.tsx';
import { EmptyState } from '../../../components/EmptyState.tsx';
import { formatCompact, formatDuration } from '../../../format.ts';
import { messages } from '../../../messages/index.ts';
import { seriesOf, timesOf, type Unit, unitOf } from './curve.ts';
import type { AttackView } from '../queries.ts';
import { stepsOf } from './steps.ts';

const text = messages.attack;
const UNITS = [
  { value: 'bps', label: text.bps },
  { value: 'pps', label: text.pps },
] as const;
const FORMATS = { bps: formatBps, pps: formatPps } as const;
const TONES = {
  began: 'bad',
  detected: 'warn',
  mitigated: 'ok',
  cancelled: 'bad',
  ended: 'ok',
} as const;
const CHART_PX = 260;

/** The traffic of the attack against what it had to pass. */
export function Traffic({ view }: { readonly view: AttackView }) {
  const { attack, evidence } = view;
  const [chosen, setChosen] = useState<Unit | null>(null);
  const unit = chosen ?? unitOf(attack, evidence?.threshold ?? null);
  const curve = evidence?.series ?? null;
  const times = useMemo(() => (curve === null ? [] : timesOf(curve)), [curve]);
  const series = useMemo(() => (curve === null ? [] : [seriesOf(curve, unit)]), [curve, unit]);
  const marks = useMemo(() => marksOf(view), [view]);
  if (curve === null || times.length === 0) {
    return <EmptyState inCard icon={ChartLine} {...text.noCurve} />;
  }
  const threshold = evidence?.threshold?.[unit] ?? null;
  const format = FORMATS[unit];
  const step = formatDuration(curve.step_ms / 1000);
  const peak = unit === 'bps' ? attack.peak_bps_formatted : attack.peak_pps_formatted;
  const named = unit === 'bps' ? text.bps : text.pps;
  return (
    <section className="card card-pad">
      <div className="row">
        <h2>{text.traffic}</h2>
        <div className="row-end">
          <SegmentedControl
            aria-label={text.unit}
            data={UNITS.map((each) => each)}
            value={unit}
            onChange={setChosen}
          />
        </div>
      </div>
      <p className="dim">
        {text.trafficLead(step)} {threshold !== null && text.trafficThreshold(format(threshold))}{' '}
        {curve.pps_error === null ? text.trafficExact : text.trafficBounds}
      </p>
      <Chart
        label={text.chart(named, peak, threshold === null ? null : format(threshold))}
        times={times}
        series={series}
        threshold={threshold}
        marks={marks}
        height={CHART_PX}
        format={formatCompact}
      />
    </section>
  );
}

function marksOf(view: AttackView): Mark[] {
  return stepsOf(view).flatMap(({ id, title, at }) =>
    at === null || id === 'began'
      ? []
      : [{ at: Date.parse(at) / 1000, label: title, tone: TONES[id] }],
  );
}
