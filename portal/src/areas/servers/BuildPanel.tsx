import type { GameServerBuild, GameServerDetail } from '@portcullis/client/index.ts';
import { plainText } from '@portcullis/core/game-servers/console-text.ts';
import { lazy, Suspense } from 'react';
import { Notice } from '../../components/Notice.tsx';
import { messages } from '../../messages/index.ts';
import { useRole } from '../../session/rights.ts';

const ReinstallButton = lazy(() => import('./ReinstallButton.tsx'));

const DeleteServer = lazy(() => import('./make/DeleteServer.tsx'));

const text = messages.server.build;

interface Props {
  readonly server: GameServerDetail;
  readonly build: GameServerBuild['data'];
}

/** How far its node has built the server, and what the install wrote. */
export function BuildPanel({ server, build }: Props) {
  const role = useRole();
  const { memory, cpu, disk } = server.limits;
  const facts = {
    state: text.states[build.state as keyof typeof text.states] ?? build.state,
    egg: build.egg,
    node: build.node,
    epoch: text.times(build.epoch),
    limits: text.limits(memory, cpu, disk),
  };
  return (
    <section className="card card-pad stack">
      <div className="row">
        <h2>{text.title}</h2>
        <div className="row-end">
          <Suspense>
            <ReinstallButton uuid={server.uuid} name={server.name} rights={build.rights} />
          </Suspense>
          {build.own && role === 'owner' && (
            <Suspense>
              <DeleteServer uuid={server.uuid} name={server.name} />
            </Suspense>
          )}
        </div>
      </div>
      {build.reason !== null && (
        <Notice kind={build.state === 'failed' ? 'bad' : 'info'}>{build.reason}</Notice>
      )}
      <dl className="pairs">
        {(['state', 'egg', 'node', 'epoch', 'limits'] as const).map((fact) => (
          <div key={fact}>
            <dt>{text.facts[fact]}</dt>
            <dd>{facts[fact]}</dd>
          </div>
        ))}
      </dl>
      <h3>{text.log}</h3>
      {build.log === null || build.log === '' ? (
        <p className="dim">{text.noLog}</p>
      ) : (
        <pre className="log" tabIndex={0} aria-label={text.log}>
          {build.log.split('\n').map(plainText).join('\n')}
        </pre>
      )}
    </section>
  );
}
