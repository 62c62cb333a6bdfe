import { Button } from '@mantine/core';
import type { DroppedPacket } from '@portcullis/client/index.ts';
import type { Column } from '../../../components/list/columns.ts';
import { ListPanel } from '../../../components/list/ListPanel.tsx';
import { Pill } from '../../../components/Pill.tsx';
import { Time } from '../../../components/Time.tsx';
import { messages } from '../../../messages/index.ts';
import type { RuleDraft } from '../rules/rule-draft.ts';

const text = messages.drops;
const NAMES: Readonly<Record<number, string>> = {
  1: 'ICMP',
  6: 'TCP',
  17: 'UDP',
  47: 'GRE',
  50: 'ESP',
  58: 'ICMPv6',
};

interface Sample extends DroppedPacket {
  readonly index: number;
}

interface Props {
  readonly samples: readonly DroppedPacket[];
  onOpenPort(draft: RuleDraft): void;
}

/** Some of the packets, each with the rule that would let its like in. */
export function Samples({ samples, onOpenPort }: Props) {
  if (samples.length === 0) return null;
  const columns: readonly Column<Sample>[] = [
    { title: text.when, cell: ({ at }) => <Time at={at} /> },
    {
      title: text.from,
      className: 'mono',
      cell: ({ source_ip: ip, source_port: port }) => withPort(ip, port),
    },
    {
      title: text.to,
      cell: ({ protocol, destination_port: port }) => (
        <>
          {NAMES[protocol] ?? text.protocol(protocol)} <span className="mono">{port}</span>
        </>
      ),
    },
    {
      title: text.reasonTitle,
      cell: ({ stage, reason }) => (
        <Pill tone="neutral" plain>
          {text.reason(stage, reason)}
        </Pill>
      ),
    },
    { title: text.edge, className: 'dim', cell: ({ edge }) => edge },
    {
      title: text.action,
      card: 'end',
      cell: (sample) => <OpenPort sample={sample} onOpenPort={onOpenPort} />,
    },
  ];
  return (
    <ListPanel
      title={text.samples}
      isHeaded
      lead={text.samplesLead}
      rows={samples.map((sample, index) => ({ ...sample, index }))}
      columns={columns}
      scrollLabel={text.samples}
      keyOf={({ index }) => index}
    />
  );
}

/** Only what rules drop can be let in by one. */
function OpenPort({
  sample,
  onOpenPort,
}: { readonly sample: DroppedPacket } & Pick<Props, 'onOpenPort'>) {
  const protocol = sample.protocol === 6 ? 'tcp' : sample.protocol === 17 ? 'udp' : null;
  const { destination_port: port, stage } = sample;
  if (protocol === null || port === null || stage !== 'policy')
    return <span className="dim">–</span>;
  return (
    <Button
      size="compact-sm"
      variant="default"
      onClick={() => onOpenPort({ action: 'allow', protocol, ports: String(port), source: '' })}
    >
      {text.open(port)}
    </Button>
  );
}

function withPort(ip: string, port: number | null): string {
  if (port === null) return ip;
  return ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`;
}
