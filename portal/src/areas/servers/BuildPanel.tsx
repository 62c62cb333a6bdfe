import type { GameServerBuild, GameServerDetail } from '@portcullis/client/index.ts';
import { plainText } from '@portcullis/core/game-servers/console-text.ts';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { RotateCw } from 'lucide-react';
import { useState } from 'react';
import { Confirm } from '../../components/Confirm.tsx';
import { Notice } from '../../components/Notice.tsx';
import { RoleButton } from '../../components/RoleButton.tsx';
import { messages } from '../../messages/index.ts';
import { useSession } from '../../session/session.ts';

const text = messages.server.build;

interface Props {
  readonly server: GameServerDetail;
  readonly build: GameServerBuild['data'];
}

/** How far its node has built the server, and what the install wrote. */
export function BuildPanel({ server, build }: Props) {
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
          <Reinstall uuid={server.uuid} name={server.name} />
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

function Reinstall({ uuid, name }: { readonly uuid: string; readonly name: string }) {
  const { client } = useSession();
  const queries = useQueryClient();
  const [isAsking, setAsking] = useState(false);
  const again = useMutation({
    mutationFn: () => client.reinstallGameServer({ slice: uuid }),
    onSuccess: () => void queries.invalidateQueries({ queryKey: ['server', uuid] }),
  });
  return (
    <>
      <RoleButton
        needs="member"
        variant="default"
        leftSection={<RotateCw size={15} aria-hidden="true" />}
        onClick={() => setAsking(true)}
      >
        {text.again}
      </RoleButton>
      {isAsking && (
        <Confirm
          title={text.againTitle(name)}
          confirm={text.again}
          write={again}
          onClose={() => setAsking(false)}
        >
          {text.againText}
        </Confirm>
      )}
    </>
  );
}
