import { SegmentedControl } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import type { Drops } from '@portcullis/client/index.ts';
import { ShieldCheck } from 'lucide-react';
import { useMemo, useState } from 'react';
import { Chart } from '../../../components/Chart.tsx';
import { EmptyState } from '../../../components/EmptyState.tsx';
import { ErrorState } from '../../../components/ErrorState.tsx';
import { Loading } from '../../../components/Loading.tsx';
import { formatBytes, formatCount } from '../../../format.ts';
import { messages } from '../../../messages/index.ts';
import { useSession } from '../../../session/session.ts';
import type { RuleDraft } from '../rules/rule-draft.ts';
import { Samples } from './Samples.tsx';
import { fillMinutes } from './fill-minutes.ts';

const text = messages.drops;
const MINUTE_MS = 60_000;
const WINDOWS = { '15': text.quarter, '60': text.hour, '360': text.sixHours, '1440': text.day };
/** Edges report every 15 seconds. */
const RENEW_MS = 5_000;

interface Props {
  readonly ip: string;
  onOpenPort(draft: RuleDraft): void;
}

/** What edges dropped, why, and when; and samples that can be let in. */
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
      {drops.data === undefined ? (
        <section className="card">
          {drops.error === null ? (
            <Loading />
          ) : (
            <ErrorState error={drops.error} onRetry={() => void drops.refetch()} />
          )}
        </section>
      ) : (
        <Shown drops={drops.data} onOpenPort={onOpenPort} />
      )}
    </div>
  );
}

function Shown({ drops, onOpenPort }: { readonly drops: Drops } & Pick<Props, 'onOpenPort'>) {
  const { data, meta } = drops;
  const { times, series } = useMemo(() => {
    const filled = fillMinutes(data.series, meta.from, meta.to);
    return {
      times: filled.times,
      series: [{ values: filled.values, tone: 'bad', as: 'columns' }] as const,
    };
  }, [data.series, meta.from, meta.to]);
  if (meta.packets === 0 && data.samples.length === 0) {
    return (
      <section className="card">
        <EmptyState icon={ShieldCheck} title={text.empty.title} text={text.empty.text} />
      </section>
    );
  }
  return (
    <>
      <div className="two">
        <section className="card card-pad">
          <h2>{text.overTime}</h2>
          <p>{text.sum(formatCount(meta.packets), formatBytes(meta.bytes))}</p>
          <Chart label={text.chart(formatCount(meta.packets))} times={times} series={series} />
        </section>
        <section className="card card-pad">
          <h2>{text.why}</h2>
          <p>{text.whyLead}</p>
          <Reasons drops={drops} />
        </section>
      </div>
      <Samples samples={data.samples} onOpenPort={onOpenPort} />
    </>
  );
}

function Reasons({ drops: { data, meta } }: { readonly drops: Drops }) {
  return (
    <div className="bars">
      {data.totals.map(({ stage, reason, by, packets }) => {
        const name = text.reason(stage, reason);
        return (
          <div key={`${stage} ${reason} ${by}`} className="bar">
            <span>
              {name} {by === 'xdp' && <span className="dim">{text.early}</span>}
            </span>
            <meter aria-label={name} min={0} max={Math.max(1, meta.packets)} value={packets} />
            <span className="num">{formatCount(packets)}</span>
          </div>
        );
      })}
    </div>
  );
}
