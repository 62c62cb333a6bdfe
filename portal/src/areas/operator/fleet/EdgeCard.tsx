import type { FleetHealth } from '@portcullis/client/index.ts';
import { lazy, Suspense, useState } from 'react';
import EnforceCommand from '../../../components/EnforceCommand.tsx';
import { Notice } from '../../../components/Notice.tsx';
import { Pill } from '../../../components/Pill.tsx';
import { Time } from '../../../components/Time.tsx';
import { formatCount, formatDuration } from '../../../format.ts';
import { operatorMessages } from '../../../messages/operator.ts';
import { AgentButtons } from './AgentButtons.tsx';
import { EditButton } from './EditButton.tsx';
import type { MadeCommand } from './join.ts';
import { readEdgeReport } from './edge-report.ts';

const ChangeHost = lazy(() => import('./ChangeHost.tsx'));

const text = operatorMessages.fleet;
type Edge = FleetHealth['data']['edges'][number];

interface Props {
  readonly edge: Edge;
  onJoin(made: MadeCommand): void;
}

/** One edge: whether it enforces, how far behind it is, what it refused, and its devices. */
export function EdgeCard({ edge, onJoin }: Props) {
  const report = readEdgeReport(edge.report);
  const [isEditing, setEditing] = useState(false);
  return (
    <article className="card" aria-label={edge.name}>
      <div className="row card-pad">
        <h2 className="flat mono">{edge.name}</h2>
        <span className="dim">{text.atSite(edge.site)}</span>
        <Pill tone={edge.mode === 'enforce' ? 'ok' : 'warn'}>{text.mode(edge.mode)}</Pill>
        <Pill tone={edge.in_service ? 'ok' : 'neutral'}>
          {edge.in_service ? text.inService : text.outOfService}
        </Pill>
        <Lag edge={edge} />
        <div className="row-end dim">
          {edge.last_seen_at === null ? text.neverSeen : <Time at={edge.last_seen_at} />}
          <EditButton name={edge.name} owner={edge.owner} onEdit={() => setEditing(true)} />
          <AgentButtons kind="edges" name={edge.name} owner={edge.owner} onJoin={onJoin} />
        </div>
      </div>
      <div className="stack card-pad edge-body">
        {isEditing && (
          <Suspense>
            <ChangeHost
              kind="edges"
              name={edge.name}
              owner={edge.owner}
              onClose={() => setEditing(false)}
            />
          </Suspense>
        )}
        {edge.mode_reason !== null && <Notice kind="warn">{edge.mode_reason}</Notice>}
        {edge.mode === 'observe' && (
          <Notice kind="info">
            <EnforceCommand />
          </Notice>
        )}
        {report.lastError !== null && <Notice kind="bad">{report.lastError}</Notice>}
        {report.problems.map((problem) => (
          <Notice key={problem} kind="warn">
            {problem}
          </Notice>
        ))}
        {edge.refused.map(({ target, reason }) => (
          <Notice key={target} kind="bad">
            {text.refused(target, reason)}
          </Notice>
        ))}
        <dl className="terms">
          <div>
            <dt>{text.serves}</dt>
            <dd className="mono">{edge.serves.join(', ')}</dd>
          </div>
          <div>
            <dt>{text.policies}</dt>
            <dd>
              {report.policies === null ? text.noReport : formatCount(report.policies)}
              {report.kernel !== null && ` (${text.kernel(report.kernel)})`}
            </dd>
          </div>
          <div>
            <dt>{text.devices}</dt>
            <dd>
              {report.devices.length === 0 && text.noReport}
              {report.devices.map(({ name, isPresent, xdp, reason }) => (
                <div key={name}>
                  <span className="mono">{name}</span>{' '}
                  {isPresent ? text.early(xdp, reason) : text.absent}
                </div>
              ))}
            </dd>
          </div>
        </dl>
      </div>
    </article>
  );
}

function Lag({ edge }: { readonly edge: Edge }) {
  // Nothing of it is in a kernel that drops, so there is nothing to be behind with.
  if (edge.mode !== 'enforce') return null;
  if (edge.generation >= edge.accepted_generation) return <Pill tone="ok">{text.current}</Pill>;
  return (
    <Pill tone="warn" moving={edge.in_service}>
      {text.behind(edge.accepted_generation - edge.generation, formatDuration(edge.lag_ms / 1000))}
    </Pill>
  );
}
