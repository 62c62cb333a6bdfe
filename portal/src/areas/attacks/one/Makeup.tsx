import type { TopPort } from '@portcullis/client/index.ts';
import { type Bar, Bars } from '../../../components/figures/Bars.tsx';
import { Card } from '../../../components/Card.tsx';
import { formatShare } from '../../../format.ts';
import { messages } from '../../../messages/index.ts';
import type { AttackView } from '../queries.ts';

const text = messages.attack;

type Evidence = NonNullable<AttackView['evidence']>;

/** The parts that an attack is made of: vectors, sources, ports. */
export function Makeup({ evidence }: { readonly evidence: Evidence }) {
  const { shares, top_sources, top_source_ports, top_destination_ports } = evidence;
  // Amounts of samples would fall while an attack goes on; parts of the whole say what it is made of.
  const counted = evidence.counted_packets ?? 0;
  const barOf = barsOf(counted);
  const whole = counted === 0 ? {} : { max: counted };
  return (
    <div className="two">
      <Card title={text.vectors} lead={text.vectorsLead}>
        <Share
          bars={shares.map(({ attack_type, share }) => ({
            name: messages.attackType(attack_type),
            value: share,
            shown: formatShare(share),
          }))}
          max={1}
          none={text.noVectors}
        />
        <h2 className="gap-above">{text.destinationPorts}</h2>
        <Share
          bars={top_destination_ports.map(portPart).map(barOf)}
          {...whole}
          none={text.noPorts}
        />
        <h2 className="gap-above">{text.sourcePorts}</h2>
        <Share bars={top_source_ports.map(portPart).map(barOf)} {...whole} none={text.noPorts} />
      </Card>
      <Card title={text.sources} lead={text.sourcesLead}>
        <Share
          bars={top_sources.map(({ source_ip: name, packets }) => ({ name, packets })).map(barOf)}
          {...whole}
          none={text.noSources}
        />
      </Card>
    </div>
  );
}

interface ShareProps {
  readonly bars: readonly Bar[];
  readonly max?: number;
  /** The text in the place of no bars. */
  readonly none: string;
}

function Share({ bars, none, ...rest }: ShareProps) {
  if (bars.length === 0) return <p className="dim">{none}</p>;
  return <Bars bars={bars} isMono {...rest} />;
}

interface Part {
  readonly name: string;
  readonly packets: number;
}

function portPart({ port, protocol, packets }: TopPort): Part {
  return { name: text.port(port, protocol), packets };
}

/** Bars as parts of all counted packets; as counts where their number is not known. */
function barsOf(counted: number): (part: Part) => Bar {
  return ({ name, packets }) => ({
    name,
    value: packets,
    shown: counted === 0 ? text.counted(packets) : formatShare(packets / counted),
  });
}
