import type { FleetHealth } from '@portcullis/client/index.ts';
import { Radar, Server, ShieldHalf } from 'lucide-react';
import type { ReactNode } from 'react';
import { EmptyState } from '../../../components/EmptyState.tsx';
import { Loaded } from '../../../components/Loaded.tsx';
import { Pill } from '../../../components/Pill.tsx';
import { Time } from '../../../components/Time.tsx';
import { formatCount } from '../../../format.ts';
import { messages } from '../../../messages/index.ts';
import { useFleet } from '../queries.ts';
import { EdgeCard } from './EdgeCard.tsx';
import { RemoveAgent } from './RemoveAgent.tsx';

const text = messages.operator.fleet;
type Health = FleetHealth['data'];

/** How edges, nodes and collectors are, as they reported last. */
export function FleetPanel() {
  const fleet = useFleet();
  return (
    <Loaded query={fleet}>
      {(health) => (
        <div className="stack">
          <Facts health={health} />
          <section className="stack" aria-label={text.edges}>
            {health.edges.length === 0 ? (
              <div className="card">
                <EmptyState icon={ShieldHalf} title={text.noEdges.title} text={text.noEdges.text} />
              </div>
            ) : (
              health.edges.map((edge) => <EdgeCard key={edge.name} edge={edge} />)
            )}
          </section>
          <div className="two">
            <Nodes nodes={health.nodes} />
            <Collectors collectors={health.collectors} />
          </div>
        </div>
      )}
    </Loaded>
  );
}

function Facts({ health: { edges, nodes, collectors } }: { readonly health: Health }) {
  const working = edges.filter((edge) => edge.in_service && edge.refused.length === 0);
  const facts = [
    [text.edges, working.length, edges.length],
    [text.nodes, nodes.filter((node) => node.connected).length, nodes.length],
    [
      text.collectors,
      collectors.filter((collector) => collector.connected).length,
      collectors.length,
    ],
  ] as const;
  return (
    <dl className="facts">
      {facts.map(([name, well, all]) => (
        <div key={name} className="fact">
          <dt>{name}</dt>
          <dd>
            {formatCount(well)} <small>{text.of(formatCount(all))}</small>
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Nodes({ nodes }: { readonly nodes: Health['nodes'] }) {
  return (
    <section className="card" aria-label={text.nodes}>
      <div className="card-pad">
        <h2>{text.nodes}</h2>
        <p className="flat">{text.nodesLead}</p>
      </div>
      {nodes.length === 0 ? (
        <EmptyState icon={Server} title={text.noNodes.title} text={text.noNodes.text} />
      ) : (
        <ul className="items">
          {nodes.map((node) => (
            <li key={node.name}>
              <div>
                <div className="strong mono">{node.name}</div>
                <div className="dim">
                  {text.built(node.built, node.servers)}
                  {node.engine !== null &&
                    `, ${text.engine(node.engine.kind, node.engine.version)}`}
                </div>
              </div>
              <Connection isUp={node.connected} seen={node.last_seen_at}>
                <RemoveAgent kind="nodes" name={node.name} owner={node.owner} />
              </Connection>
              {typeof node.engine?.problem === 'string' && (
                <p className="item-note">{node.engine.problem}</p>
              )}
              {node.failed.map(({ uuid, name, reason }) => (
                <p key={uuid} className="item-note">
                  {text.failed(name, reason)}
                </p>
              ))}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function Collectors({ collectors }: { readonly collectors: Health['collectors'] }) {
  return (
    <section className="card" aria-label={text.collectors}>
      <div className="card-pad">
        <h2>{text.collectors}</h2>
        <p className="flat">{text.collectorsLead}</p>
      </div>
      {collectors.length === 0 ? (
        <EmptyState icon={Radar} title={text.noCollectors.title} text={text.noCollectors.text} />
      ) : (
        <ul className="items">
          {collectors.map((collector) => (
            <li key={collector.name}>
              <div>
                <div className="strong mono">{collector.name}</div>
                <div className="dim">{text.listens(collector.listen, collector.exporters)}</div>
              </div>
              <Connection isUp={collector.connected} seen={collector.last_seen_at}>
                <RemoveAgent kind="collectors" name={collector.name} owner={collector.owner} />
              </Connection>
              {typeof collector.report?.['problem'] === 'string' && (
                <p className="item-note">{collector.report['problem']}</p>
              )}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

interface ConnectionProps {
  readonly isUp: boolean;
  readonly seen: string | null;
  readonly children: ReactNode;
}

function Connection({ isUp, seen, children }: ConnectionProps) {
  return (
    <div className="row-end">
      {seen !== null && (
        <span className="dim">
          <Time at={seen} />
        </span>
      )}
      <Pill tone={isUp ? 'ok' : 'bad'}>{isUp ? text.connected : text.away}</Pill>
      {children}
    </div>
  );
}
