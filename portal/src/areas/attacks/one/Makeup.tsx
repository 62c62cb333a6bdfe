import type { TopPort } from '@portcullis/client/index.ts';
import { type Bar, Bars } from '../../../components/figures/Bars.tsx';
import { Card } from '../../../components/Card.tsx';
import { messages } from '../../../messages/index.ts';
import type { AttackView } from '../queries.ts';

const text = messages.attack;

type Evidence = NonNullable<AttackView['evidence']>;

/** What an attack is made of: vectors, sources, ports. */
export function Makeup({ evidence }: { readonly evidence: Evidence }) {
  const { shares, top_sources, top_source_ports, top_destination_ports } = evidence;
  return (
    <div className="two">
      <Card title={text.vectors} lead={text.vectorsLead}>
        <Share
          bars={shares.map(({ attack_type, share }) => ({
            name: messages.attackType(attack_type),
            value: share,
            shown: `${Math.round(share * 100)} %`,
          }))}
          max={1}
          none={text.noVectors}
        />
        <h2 className="gap-above">{text.destinationPorts}</h2>
        <Share bars={portBars(top_destination_ports)} none={text.noPorts} />
        <h2 className="gap-above">{text.sourcePorts}</h2>
        <Share bars={portBars(top_source_ports)} none={text.noPorts} />
      </Card>
      <Card title={text.sources} lead={text.sourcesLead}>
        <Share
          bars={top_sources.map(({ source_ip, packets }) => ({ name: source_ip, value: packets }))}
          none={text.noSources}
        />
      </Card>
    </div>
  );
}

interface ShareProps {
  readonly bars: readonly Bar[];
  readonly max?: number;
  /** What is said instead of no bars. */
  readonly none: string;
}

function Share({ bars, none, ...rest }: ShareProps) {
  if (bars.length === 0) return <p className="dim">{none}</p>;
  return <Bars bars={bars} isMono {...rest} />;
}

function portBars(ports: readonly TopPort[]): Bar[] {
  return ports.map(({ port, protocol, packets }) => ({
    name: text.port(port, protocol),
    value: packets,
  }));
}
