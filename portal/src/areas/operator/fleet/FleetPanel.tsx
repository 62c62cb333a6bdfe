import type { FleetHealth } from '@portcullis/client/index.ts';
import { useQuery } from '@tanstack/react-query';
import { Radar, Server, ShieldHalf } from 'lucide-react';
import { EmptyState } from '../../../components/EmptyState.tsx';
import { Facts } from '../../../components/figures/Facts.tsx';
import { ListPanel } from '../../../components/list/ListPanel.tsx';
import { Loaded } from '../../../components/Loaded.tsx';
import { Pill } from '../../../components/Pill.tsx';
import { Time } from '../../../components/Time.tsx';
import { formatCount } from '../../../format.ts';
import { operatorMessages } from '../../../messages/operator.ts';
import { personClient } from '../../../session/session.ts';
import { EdgeCard } from './EdgeCard.tsx';
import { RemoveAgent } from './RemoveAgent.tsx';

const text = operatorMessages.fleet;
const FLEET_MS = 5_000;
type Health = FleetHealth['data'];

/** How edges, nodes and collectors are, as they reported last. */
export function FleetPanel() {
  const fleet = useQuery({
    queryKey: ['operator', 'fleet'],
    queryFn: async ({ signal }) => (await personClient.readFleetHealth({}, { signal })).data,
    refetchInterval: FLEET_MS,
  });
  return (
    <Loaded query={fleet}>
      {(health) => (
        <div className="stack">
          <FleetFacts health={health} />
          <section className="stack" aria-label={text.edges}>
            {health.edges.length === 0 ? (
              <EmptyState inCard icon={ShieldHalf} {...text.noEdges} />
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

function FleetFacts({ health: { edges, nodes, collectors } }: { readonly health: Health }) {
  const connected = (agents: readonly { readonly connected: boolean }[]): number =>
    agents.filter((agent) => agent.connected).length;
  const working = edges.filter((edge) => edge.in_service && edge.refused.length === 0).length;
  const facts = [
    [text.edges, working, edges.length],
    [text.nodes, connected(nodes), nodes.length],
    [text.collectors, connected(collectors), collectors.length],
  ] as const;
  return (
    <Facts
      facts={facts.map(([name, well, all]) => ({
        name,
        value: formatCount(well),
        hint: text.of(formatCount(all)),
      }))}
    />
  );
}

function Nodes({ nodes }: { readonly nodes: Health['nodes'] }) {
  return (
    <ListPanel
      title={text.nodes}
      isHeaded
      lead={text.nodesLead}
      rows={nodes}
      empty={{ icon: Server, ...text.noNodes }}
    >
      {(shown) => (
        <ul className="items">
          {shown.map(({ built, servers, engine, failed, ...node }) => (
            <Agent
              key={node.name}
              kind="nodes"
              agent={node}
              about={`${text.built(built, servers)}${
                engine === null ? '' : `, ${text.engine(engine.kind, engine.version)}`
              }`}
              notes={[
                ...(typeof engine?.problem === 'string' ? [engine.problem] : []),
                ...failed.map(({ name, reason }) => text.failed(name, reason)),
              ]}
            />
          ))}
        </ul>
      )}
    </ListPanel>
  );
}

function Collectors({ collectors }: { readonly collectors: Health['collectors'] }) {
  return (
    <ListPanel
      title={text.collectors}
      isHeaded
      lead={text.collectorsLead}
      rows={collectors}
      empty={{ icon: Radar, ...text.noCollectors }}
    >
      {(shown) => (
        <ul className="items">
          {shown.map(({ listen, exporters, report, ...collector }) => (
            <Agent
              key={collector.name}
              kind="collectors"
              agent={collector}
              about={text.listens(listen, exporters)}
              notes={typeof report?.['problem'] === 'string' ? [report['problem']] : []}
            />
          ))}
        </ul>
      )}
    </ListPanel>
  );
}

interface AgentProps {
  readonly kind: 'nodes' | 'collectors';
  readonly agent: Pick<Health['nodes'][number], 'name' | 'owner' | 'connected' | 'last_seen_at'>;
  readonly about: string;
  /** What is amiss with it. */
  readonly notes: readonly string[];
}

function Agent({ kind, agent, about, notes }: AgentProps) {
  const { name, owner, connected, last_seen_at: seen } = agent;
  return (
    <li>
      <div>
        <div className="strong mono">{name}</div>
        <div className="dim">{about}</div>
      </div>
      <div className="row-end">
        <span className="dim">{seen !== null && <Time at={seen} />}</span>
        <Pill tone={connected ? 'ok' : 'bad'}>{connected ? text.connected : text.away}</Pill>
        <RemoveAgent kind={kind} name={name} owner={owner} />
      </div>
      {notes.map((note) => (
        <p key={note} className="item-note">
          {note}
        </p>
      ))}
    </li>
  );
}
