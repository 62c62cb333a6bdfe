import { Progress } from '@mantine/core';
import { RadioTower } from 'lucide-react';
import type { EdgeProgress } from '@portcullis/client/index.ts';
import { Card } from '../../components/Card.tsx';
import { EmptyState } from '../../components/EmptyState.tsx';
import { Facts } from '../../components/figures/Facts.tsx';
import { Pill } from '../../components/Pill.tsx';
import { messages } from '../../messages/index.ts';
import type { AcceptedView } from './queries.ts';

const text = messages.edges;

/** The way of the newest change from accepted to live, edge by edge, renewed while it happens. */
export function Edges({ view }: { readonly view: AcceptedView }) {
  const { edges, accepted_generation: accepted, live_generation: live } = view.meta;
  return (
    <Card title={text.title} lead={text.lead}>
      <Facts
        facts={[
          { name: text.accepted, value: accepted },
          { name: text.live, value: live },
        ]}
      />
      <p className="dim">{view.meta.propagation.text}</p>
      {edges.length === 0 ? (
        <EmptyState icon={RadioTower} title={text.none.title} text={text.none.text} />
      ) : (
        edges.map((edge) => <Edge key={edge.name} edge={edge} accepted={accepted} />)
      )}
    </Card>
  );
}

function Edge({ edge, accepted }: { readonly edge: EdgeProgress; readonly accepted: number }) {
  const isDone = edge.generation >= accepted && edge.refused === null;
  const percent = accepted === 0 ? 100 : Math.min(100, (edge.generation / accepted) * 100);
  return (
    <div className="edge">
      <strong>{edge.name}</strong>
      <div>
        <Progress
          value={isDone ? 100 : percent}
          color={edge.refused === null ? (isDone ? 'teal' : 'yellow') : 'red'}
          size="sm"
          aria-label={text.progress(edge.name)}
        />
        <div className="hint">{edge.refused ?? text.has(edge.generation)}</div>
      </div>
      <EdgeState edge={edge} isDone={isDone} />
    </div>
  );
}

function EdgeState({ edge, isDone }: { readonly edge: EdgeProgress; readonly isDone: boolean }) {
  if (edge.refused !== null) return <Pill tone="bad">{text.refused}</Pill>;
  if (!edge.in_service) return <Pill tone="neutral">{text.away}</Pill>;
  if (isDone) return <Pill tone="ok">{text.isLive}</Pill>;
  return (
    <Pill tone="warn" moving>
      {text.applying}
    </Pill>
  );
}
