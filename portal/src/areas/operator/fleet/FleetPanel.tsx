import type { FleetHealth } from '@portcullis/client/index.ts';
import { useQuery } from '@tanstack/react-query';
import { Button } from '@mantine/core';
import { Plus, Radar, Server, ShieldHalf } from 'lucide-react';
import { lazy, Suspense, useState } from 'react';
import { Card } from '../../../components/Card.tsx';
import { SecretOnce } from '../../../components/SecretOnce.tsx';
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
import { AgentButtons } from './AgentButtons.tsx';
import { AgentForm } from './AgentForm.tsx';
import { EditButton } from './EditButton.tsx';
import type { MadeCommand } from './join.ts';

const ChangeHost = lazy(() => import('./ChangeHost.tsx'));
const DeletedServers = lazy(() => import('./DeletedServers.tsx'));
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
  const [isAdding, setAdding] = useState(false);
  const [made, setMade] = useState<MadeCommand | null>(null);
  return (
    <Loaded query={fleet}>
      {(health) => (
        <div className="stack">
          <FleetFacts health={health} />
          {isAdding ? (
            <Card title={text.add}>
              <AgentForm
                taken={{
                  nodes: health.nodes.map(({ name }) => name),
                  edges: health.edges.map(({ name }) => name),
                  collectors: health.collectors.map(({ name }) => name),
                }}
                onClose={() => setAdding(false)}
                onMade={setMade}
              />
            </Card>
          ) : (
            <div className="row">
              <Button
                variant="default"
                leftSection={<Plus size={15} aria-hidden="true" />}
                onClick={() => setAdding(true)}
              >
                {text.add}
              </Button>
            </div>
          )}
          {made !== null && (
            <SecretOnce
              title={text.joinTitle(made.name)}
              secret={made.command}
              onClose={() => setMade(null)}
            >
              {text.joinText}
            </SecretOnce>
          )}
          <section className="stack" aria-label={text.edges}>
            {health.edges.length === 0 ? (
              <EmptyState inCard icon={ShieldHalf} {...text.noEdges} />
            ) : (
              health.edges.map((edge) => <EdgeCard key={edge.name} edge={edge} onJoin={setMade} />)
            )}
          </section>
          <div className="two">
            <Nodes nodes={health.nodes} onJoin={setMade} />
            <Collectors collectors={health.collectors} onJoin={setMade} />
          </div>
          <Suspense>
            <DeletedServers />
          </Suspense>
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

interface Joining {
  onJoin(made: MadeCommand): void;
}

function Nodes({ nodes, onJoin }: Joining & { readonly nodes: Health['nodes'] }) {
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
          {shown.map(({ built, servers, engine, failed, memory, memory_used: used, ...node }) => (
            <Agent
              key={node.name}
              kind="nodes"
              onJoin={onJoin}
              agent={node}
              about={`${text.built(built, servers)}${
                engine === null ? '' : `, ${text.engine(engine.kind, engine.version)}`
              }${memory === null ? '' : `, ${text.room(formatCount(used), formatCount(memory))}`}`}
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

function Collectors({
  collectors,
  onJoin,
}: Joining & { readonly collectors: Health['collectors'] }) {
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
          {shown.map(({ listen, exporters, prefixes, report, ...collector }) => (
            <Agent
              key={collector.name}
              kind="collectors"
              onJoin={onJoin}
              agent={collector}
              about={text.listens(listen, exporters)}
              notes={[
                ...(prefixes === 'all' ? [text.believedOfAll] : []),
                ...(typeof report?.['problem'] === 'string' ? [report['problem']] : []),
              ]}
            />
          ))}
        </ul>
      )}
    </ListPanel>
  );
}

interface AgentProps extends Joining {
  readonly kind: 'nodes' | 'collectors';
  readonly agent: Pick<Health['nodes'][number], 'name' | 'owner' | 'connected' | 'last_seen_at'>;
  readonly about: string;
  /** Notes on what is amiss with it. */
  readonly notes: readonly string[];
}

function Agent({ kind, agent, about, notes, onJoin }: AgentProps) {
  const { name, owner, connected, last_seen_at: seen } = agent;
  const [isEditing, setEditing] = useState(false);
  return (
    <li>
      <div>
        <div className="strong mono">{name}</div>
        <div className="dim">{about}</div>
      </div>
      <div className="row-end">
        <span className="dim">{seen !== null && <Time at={seen} />}</span>
        <Pill tone={connected ? 'ok' : 'bad'}>{connected ? text.connected : text.away}</Pill>
        <EditButton name={name} owner={owner} onEdit={() => setEditing(true)} />
        <AgentButtons kind={kind} name={name} owner={owner} onJoin={onJoin} />
      </div>
      {isEditing && (
        <Suspense>
          <ChangeHost kind={kind} name={name} owner={owner} onClose={() => setEditing(false)} />
        </Suspense>
      )}
      {notes.map((note) => (
        <p key={note} className="item-note">
          {note}
        </p>
      ))}
    </li>
  );
}
