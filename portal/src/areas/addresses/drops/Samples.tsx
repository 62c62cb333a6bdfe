import { Button } from '@mantine/core';
import type { DroppedPacket } from '@portcullis/client/index.ts';
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

interface Props {
  readonly samples: readonly DroppedPacket[];
  onOpenPort(draft: RuleDraft): void;
}

/** Some of the packets, each with the rule that would let its like in. */
export function Samples({ samples, onOpenPort }: Props) {
  if (samples.length === 0) return null;
  return (
    <section className="card">
      <div className="card-pad">
        <h2>{text.samples}</h2>
        <p className="dim">{text.samplesLead}</p>
      </div>
      <div className="scroll-x" tabIndex={0} role="region" aria-label={text.samples}>
        <table className="plain-table">
          <thead>
            <tr>
              <th scope="col">{text.when}</th>
              <th scope="col">{text.from}</th>
              <th scope="col">{text.to}</th>
              <th scope="col">{text.reasonTitle}</th>
              <th scope="col">{text.edge}</th>
              <th scope="col">{text.action}</th>
            </tr>
          </thead>
          <tbody>
            {samples.map((sample, index) => (
              <tr key={`${sample.at} ${sample.source_ip} ${sample.source_port} ${index}`}>
                <td>
                  <Time at={sample.at} />
                </td>
                <td className="mono">{withPort(sample.source_ip, sample.source_port)}</td>
                <td>
                  {NAMES[sample.protocol] ?? text.protocol(sample.protocol)}{' '}
                  <span className="mono">{sample.destination_port}</span>
                </td>
                <td>
                  <Pill tone="neutral" plain>
                    {text.reason(sample.stage, sample.reason)}
                  </Pill>
                </td>
                <td className="dim">{sample.edge}</td>
                <td>
                  <OpenPort sample={sample} onOpenPort={onOpenPort} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
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
