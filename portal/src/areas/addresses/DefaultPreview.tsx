import { useQuery } from '@tanstack/react-query';
import type { PreviewedPort } from '@portcullis/client/index.ts';
import type { Column } from '../../components/list/columns.ts';
import { Loaded } from '../../components/Loaded.tsx';
import { Notice } from '../../components/Notice.tsx';
import { Pill } from '../../components/Pill.tsx';
import { PlainTable } from '../../components/list/PlainTable.tsx';
import { timeColumn } from '../../components/Time.tsx';
import { messages } from '../../messages/index.ts';
import { useSession } from '../../session/session.ts';

const text = messages.default.preview;
const MAX_SHOWN = 12;
/** Protocols by number of the IP protocol. */
const PROTOCOLS: Readonly<Record<number, string>> = { 1: 'ICMP', 6: 'TCP', 17: 'UDP', 58: 'ICMP' };

/** The packets that a default of deny would have dropped on the last day. */
export function DefaultPreview({ ip }: { readonly ip: string }) {
  const { client } = useSession();
  const preview = useQuery({
    queryKey: ['default-preview', ip],
    queryFn: ({ signal }) => client.previewDefault({ ip }, { signal }),
  });
  return (
    <Loaded query={preview} rows={3}>
      {({ data: { ports }, message }) => (
        <>
          <Notice kind={ports.some(isDropped) ? 'warn' : 'info'}>{message}</Notice>
          {ports.length > 0 && <Ports ports={ports} />}
        </>
      )}
    </Loaded>
  );
}

function isDropped({ dropped }: PreviewedPort): boolean {
  return dropped.samples > 0;
}

function Ports({ ports }: { readonly ports: readonly PreviewedPort[] }) {
  const more = ports.length - MAX_SHOWN;
  return (
    <div>
      <PlainTable
        columns={COLUMNS}
        rows={ports.slice(0, MAX_SHOWN)}
        keyOf={({ protocol, port }) => `${protocol}:${port}`}
      />
      {more > 0 && <p className="dim">{text.more(more)}</p>}
    </div>
  );
}

const COLUMNS: readonly Column<PreviewedPort>[] = [
  {
    title: text.to,
    cell: ({ protocol, port }) => (
      <>
        {PROTOCOLS[protocol] ?? messages.drops.protocol(protocol)}{' '}
        {port !== null && <span className="mono">{port}</span>}
      </>
    ),
  },
  {
    title: text.outcome,
    cell: (port) => (
      <span className="pills">
        {isDropped(port) && <Pill tone="bad">{text.dropped}</Pill>}
        {port.passed.samples > 0 && <Pill tone="ok">{text.passes}</Pill>}
      </span>
    ),
  },
  {
    title: text.sources,
    cell: (port) => (isDropped(port) ? port.dropped : port.passed).sources,
  },
  timeColumn(text.seen, ({ last_seen_at: at }) => at),
];
