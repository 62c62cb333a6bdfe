import type { GameServerDetail, GameServerHistory } from '@portcullis/client/index.ts';
import { ChartLine } from 'lucide-react';
import { type ReactNode, useMemo } from 'react';
import { Card } from '../../../components/Card.tsx';
import { Chart } from '../../../components/figures/Chart.tsx';
import { EmptyState } from '../../../components/EmptyState.tsx';
import { Loaded } from '../../../components/Loaded.tsx';
import { formatBytes, formatMib } from '../../../format.ts';
import { messages } from '../../../messages/index.ts';
import { useHistory } from '../queries.ts';
import { fillMinutes } from '../../../components/figures/fill-minutes.ts';

const text = messages.server.resources;
const MIB = 1_048_576;

/** Resources that the server used in the last day, each against its limit. */
export default function ResourcesPanel({ server }: { readonly server: GameServerDetail }) {
  return (
    <Loaded query={useHistory(server.uuid)} inCard>
      {(history) =>
        history.data.samples.length === 0 ? (
          <EmptyState inCard icon={ChartLine} {...text.empty} />
        ) : (
          <Charts history={history} limits={server.limits} />
        )
      }
    </Loaded>
  );
}

type Sample = GameServerHistory['data']['samples'][number];

interface Drawn {
  readonly title: string;
  readonly lead: ReactNode;
  /** The first is drawn through, the second dotted. */
  readonly lines: readonly ((sample: Sample) => number | null)[];
  readonly limit: number | null;
  readonly isBinary: boolean;
  format(value: number): string;
}

interface ChartsProps {
  readonly history: Pick<GameServerHistory, 'data' | 'meta'>;
  readonly limits: GameServerDetail['limits'];
}

const MEMORY = [(sample: Sample) => sample.memory_bytes];
const CPU = [(sample: Sample) => sample.cpu_absolute];
const DISK = [(sample: Sample) => sample.disk_bytes];
const NETWORK = [
  (sample: Sample) => sample.network_rx_bytes_per_second,
  (sample: Sample) => sample.network_tx_bytes_per_second,
];
const STYLES = [
  { tone: 'accent', as: 'line' },
  { tone: 'ok', as: 'dotted-line' },
] as const;

function Charts({ history: { data, meta }, limits }: ChartsProps) {
  const from = data.samples[0]?.at ?? meta.from;
  const filled = useMemo(
    () => fillMinutes(data.samples, from, meta.to),
    [data.samples, from, meta.to],
  );
  const limited = (title: string, lines: Drawn['lines'], limit: number): Drawn => {
    const isBinary = lines !== CPU;
    const format = isBinary ? formatMib : percent;
    const isLimited = limit > 0;
    const lead = isLimited ? text.limit(format(limit)) : text.noLimit;
    return { title, lead, lines, limit: isLimited ? limit : null, isBinary, format };
  };
  const charts: readonly Drawn[] = [
    limited(text.memory, MEMORY, limits.memory * MIB),
    limited(text.cpu, CPU, limits.cpu),
    limited(text.disk, DISK, limits.disk * MIB),
    {
      title: text.network,
      lead: (
        <span className="row">
          <span className="key key-line">{text.received}</span>
          <span className="key key-dots">{text.sent}</span>
        </span>
      ),
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

function percent(value: number): string {
  return `${Math.round(value)} %`;
}

function rate(value: number): string {
  return `${formatBytes(value)}/s`;
}

interface DayChartProps {
  readonly chart: Drawn;
  readonly filled: ReturnType<typeof fillMinutes<Sample>>;
}

function DayChart({ chart, filled }: DayChartProps) {
  const { title, lead, lines, limit, isBinary, format } = chart;
  const series = useMemo(
    () =>
      STYLES.slice(0, lines.length).map((style, index) => ({
        ...style,
        values: filled.samples.map((sample) => (sample && lines[index]?.(sample)) ?? null),
      })),
    [filled, lines],
  );
  const now = series[0]?.values.at(filled.samples.findLastIndex((sample) => sample !== undefined));
  return (
    <Card title={title} lead={lead}>
      <Chart
        label={text.chart(title, now === null || now === undefined ? null : format(now))}
        times={filled.times}
        series={series}
        threshold={limit}
        isBinary={isBinary}
        format={format}
      />
    </Card>
  );
}
