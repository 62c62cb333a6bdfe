import type { GameServerDetail, GameServerHistory } from '@portcullis/client/index.ts';
import { ChartLine } from 'lucide-react';
import { useMemo } from 'react';
import { Chart, type Tone } from '../../../components/Chart.tsx';
import { EmptyState } from '../../../components/EmptyState.tsx';
import { ErrorState } from '../../../components/ErrorState.tsx';
import { Loading } from '../../../components/Loading.tsx';
import { formatBytes, formatMib } from '../../../format.ts';
import { messages } from '../../../messages/index.ts';
import { useHistory } from '../queries.ts';
import { fillDay } from './fill-day.ts';

const text = messages.server.resources;
const MIB = 1_048_576;

/** What the server used in the last day, each against its limit. */
export default function ResourcesPanel({ server }: { readonly server: GameServerDetail }) {
  const history = useHistory(server.uuid);
  if (history.data === undefined) {
    return (
      <section className="card">
        {history.error === null ? (
          <Loading />
        ) : (
          <ErrorState error={history.error} onRetry={() => void history.refetch()} />
        )}
      </section>
    );
  }
  if (history.data.data.samples.length === 0) {
    return (
      <section className="card">
        <EmptyState icon={ChartLine} title={text.empty.title} text={text.empty.text} />
      </section>
    );
  }
  return <Charts history={history.data} limits={server.limits} />;
}

type Sample = GameServerHistory['data']['samples'][number];

interface Line {
  readonly tone: Tone;
  of(sample: Sample): number | null;
}

interface Drawn {
  readonly title: string;
  readonly lead: string;
  readonly lines: readonly Line[];
  readonly limit: number | null;
  readonly isBinary: boolean;
  format(value: number): string;
}

interface ChartsProps {
  readonly history: Pick<GameServerHistory, 'data' | 'meta'>;
  readonly limits: GameServerDetail['limits'];
}

function Charts({ history: { data, meta }, limits }: ChartsProps) {
  const from = data.samples[0]?.at ?? meta.from;
  const filled = useMemo(() => fillDay(data.samples, from, meta.to), [data.samples, from, meta.to]);
  const charts: readonly Drawn[] = [
    {
      title: text.memory,
      lead: text.limit(formatMib(limits.memory * MIB)),
      lines: MEMORY,
      limit: limits.memory * MIB,
      isBinary: true,
      format: formatMib,
    },
    {
      title: text.cpu,
      lead: text.limit(percent(limits.cpu)),
      lines: CPU,
      limit: limits.cpu,
      isBinary: false,
      format: percent,
    },
    {
      title: text.disk,
      lead: text.limit(formatMib(limits.disk * MIB)),
      lines: DISK,
      limit: limits.disk * MIB,
      isBinary: true,
      format: formatMib,
    },
    {
      title: text.network,
      lead: text.networkLead,
      lines: NETWORK,
      limit: null,
      isBinary: false,
      format: rate,
    },
  ];
  return (
    <div className="two">
      {charts.map((chart) => (
        <DayChart key={chart.title} chart={chart} filled={filled} />
      ))}
    </div>
  );
}

const MEMORY: readonly Line[] = [{ tone: 'accent', of: (sample) => sample.memory_bytes }];
const CPU: readonly Line[] = [{ tone: 'accent', of: (sample) => sample.cpu_absolute }];
const DISK: readonly Line[] = [{ tone: 'accent', of: (sample) => sample.disk_bytes }];
const NETWORK: readonly Line[] = [
  { tone: 'accent', of: (sample) => sample.network_rx_bytes_per_second },
  { tone: 'ok', of: (sample) => sample.network_tx_bytes_per_second },
];

function percent(value: number): string {
  return `${Math.round(value)} %`;
}

function rate(value: number): string {
  return `${formatBytes(value)}/s`;
}

interface DayChartProps {
  readonly chart: Drawn;
  readonly filled: ReturnType<typeof fillDay<Sample>>;
}

function DayChart({ chart, filled }: DayChartProps) {
  const { title, lead, lines, limit, isBinary, format } = chart;
  const series = useMemo(
    () =>
      lines.map(({ tone, of }, index) => ({
        tone,
        as: index === 0 ? ('line' as const) : ('dotted-line' as const),
        values: filled.samples.map((sample) => (sample === undefined ? null : of(sample))),
      })),
    [filled, lines],
  );
  const last = filled.samples.findLast((sample) => sample !== undefined);
  const now = last === undefined ? null : (lines[0]?.of(last) ?? null);
  return (
    <section className="card card-pad">
      <h2>{title}</h2>
      <p>{lead}</p>
      <Chart
        label={text.chart(title, now === null ? null : format(now))}
        times={filled.times}
        series={series}
        threshold={limit}
        isBinary={isBinary}
        format={format}
      />
    </section>
  );
}
