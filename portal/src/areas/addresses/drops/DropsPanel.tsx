import { SegmentedControl } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import type { Drops } from '@portcullis/client/index.ts';
import { ShieldCheck } from 'lucide-react';
import { useMemo, useState } from 'react';
import { DropBars } from '../../../components/figures/Bars.tsx';
import { Card } from '../../../components/Card.tsx';
import { Chart } from '../../../components/figures/Chart.tsx';
import { EmptyState } from '../../../components/EmptyState.tsx';
import { fillMinutes } from '../../../components/figures/fill-minutes.ts';
import { Loaded } from '../../../components/Loaded.tsx';
import { formatBytes } from '../../../format.ts';
import { messages } from '../../../messages/index.ts';
import { useSession } from '../../../session/session.ts';
import type { RuleDraft } from '../rules/rule-draft.ts';
import { Samples } from './Samples.tsx';

const text = messages.drops;
const MINUTE_MS = 60_000;
const WINDOWS = { '15': text.quarter, '60': text.hour, '360': text.sixHours, '1440': text.day };
/** Edges report every 15 seconds. */
const RENEW_MS = 5_000;

interface Props {
  readonly ip: string;
  onOpenPort(draft: RuleDraft): void;
}

/** Packets that edges dropped, why, and when; and samples that can be let in. */
export default function DropsPanel({ ip, onOpenPort }: Props) {
  const { client } = useSession();
  const [minutes, setMinutes] = useState('60');
  const drops = useQuery({
    queryKey: ['drops', ip, minutes],
    refetchInterval: RENEW_MS,
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) => {
      const from = new Date(Date.now() - Number(minutes) * MINUTE_MS).toISOString();
      return client.readDrops({ ip, query: { from } }, { signal });
    },
  });
  return (
    <div className="stack">
      <div className="tools">
        <SegmentedControl
          aria-label={text.window}
          value={minutes}
          onChange={setMinutes}
          data={Object.entries(WINDOWS).map(([value, label]) => ({ value, label }))}
        />
        {drops.data?.meta.from_clamped === true && <span className="dim">{text.clamped}</span>}
      </div>
      <Loaded query={drops} inCard>
        {(data) => <Shown drops={data} onOpenPort={onOpenPort} />}
      </Loaded>
    </div>
  );
}

function Shown({ drops, onOpenPort }: { readonly drops: Drops } & Pick<Props, 'onOpenPort'>) {
  const { data, meta } = drops;
  const { times, series } = useMemo(() => {
    const filled = fillMinutes(data.series, meta.from, meta.to);
    const values = filled.samples.map((minute) => minute?.packets ?? 0);
    return { times: filled.times, series: [{ values, tone: 'bad', as: 'columns' }] as const };
  }, [data.series, meta.from, meta.to]);
  if (meta.packets === 0 && data.samples.length === 0) {
    return <EmptyState inCard icon={ShieldCheck} {...text.empty} />;
  }
  return (
    <>
      <div className="two">
        <Card title={text.overTime} lead={text.sum(meta.packets, formatBytes(meta.bytes))}>
          <Chart label={text.chart(meta.packets)} times={times} series={series} />
        </Card>
        <Card title={text.why} lead={text.whyLead}>
          <DropBars totals={data.totals} packets={meta.packets} />
        </Card>
      </div>
      {data.filters.greeted + data.filters.validated > 0 && (
        <div className="dim">
          {text.filtersPassed(data.filters.greeted, data.filters.validated)}
        </div>
      )}
      <Samples samples={data.samples} onOpenPort={onOpenPort} />
    </>
  );
}
