import type { TopPort } from '@portcullis/client/index.ts';
import { formatCount } from '../../../format.ts';
import { messages } from '../../../messages/index.ts';
import type { AttackView } from '../queries.ts';

const text = messages.attack;

type Evidence = NonNullable<AttackView['evidence']>;

/** What an attack is made of: vectors, sources, ports. */
export function Makeup({ evidence }: { readonly evidence: Evidence }) {
  const { shares, top_sources, top_source_ports, top_destination_ports } = evidence;
  return (
    <div className="two">
      <section className="card card-pad">
        <h2>{text.vectors}</h2>
        <p>{text.vectorsLead}</p>
        <Bars
          rows={shares.map(({ attack_type, share }) => ({
            name: messages.attackType(attack_type),
            value: share,
            shown: `${Math.round(share * 100)} %`,
          }))}
          max={1}
          none={text.noVectors}
        />
        <h2 className="gap-above">{text.destinationPorts}</h2>
        <Bars rows={portRows(top_destination_ports)} none={text.noPorts} />
        <h2 className="gap-above">{text.sourcePorts}</h2>
        <Bars rows={portRows(top_source_ports)} none={text.noPorts} />
      </section>
      <section className="card card-pad">
        <h2>{text.sources}</h2>
        <p>{text.sourcesLead}</p>
        <Bars
          rows={top_sources.map(({ source_ip, packets }) => packetRow(source_ip, packets))}
          none={text.noSources}
        />
      </section>
    </div>
  );
}

interface BarRow {
  readonly name: string;
  readonly value: number;
  readonly shown: string;
}

function Bars({ rows, max, none }: { rows: readonly BarRow[]; max?: number; none: string }) {
  if (rows.length === 0) return <p className="dim">{none}</p>;
  const most = max ?? Math.max(1, ...rows.map(({ value }) => value));
  return (
    <div className="bars">
      {rows.map(({ name, value, shown }) => (
        <div key={name} className="bar">
          <span className="mono">{name}</span>
          <meter aria-label={name} min={0} max={most} value={value} />
          <span className="num">{shown}</span>
        </div>
      ))}
    </div>
  );
}

function portRows(ports: readonly TopPort[]): BarRow[] {
  return ports.map(({ port, protocol, packets }) => packetRow(text.port(port, protocol), packets));
}

function packetRow(name: string, packets: number): BarRow {
  return { name, value: packets, shown: formatCount(packets) };
}
