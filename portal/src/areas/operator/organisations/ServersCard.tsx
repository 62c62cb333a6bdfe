import { useQuery } from '@tanstack/react-query';
import type { DeclaredServer } from '@portcullis/client/index.ts';
import { Gamepad2 } from 'lucide-react';
import { lazy, Suspense, useState } from 'react';
import { ConfirmButton } from '../../../components/forms/ConfirmButton.tsx';
import { ListPanel } from '../../../components/list/ListPanel.tsx';
import { RoleButton } from '../../../components/RoleButton.tsx';
import { Pill, type Tone } from '../../../components/Pill.tsx';
import { formatCount } from '../../../format.ts';
import { operatorMessages } from '../../../messages/operator.ts';
import { personClient } from '../../../session/session.ts';
import { ServerForm } from '../../servers/form/ServerForm.tsx';
import { OwnerPill } from '../OwnerPill.tsx';
import { LIST_MS, type Organisation } from '../queries.ts';

const MoveServer = lazy(() => import('./MoveServer.tsx'));
const text = operatorMessages.servers;
const TONES: Readonly<Record<string, Tone>> = { built: 'ok', failed: 'bad' };

/** Game servers of the organisation: made from the eggs of the library, suspended, installed anew, deleted. */
export function ServersCard({ organisation }: { readonly organisation: Organisation }) {
  const { slug } = organisation;
  const servers = useQuery({
    queryKey: ['operator', 'servers', slug],
    queryFn: async ({ signal }) =>
      (await personClient.listServers({ query: { organisation: slug } }, { signal })).data,
    refetchInterval: LIST_MS,
  });
  return (
    <ListPanel
      title={text.title}
      isHeaded
      query={servers}
      rows={servers.data}
      empty={{ icon: Gamepad2, ...text.none }}
      add={{
        label: text.add,
        form: (close) => <ServerForm organisation={organisation} onClose={close} />,
      }}
    >
      {(rows) => (
        <ul className="items">
          {rows.map((server) => (
            <ServerItem key={server.uuid} server={server} />
          ))}
        </ul>
      )}
    </ListPanel>
  );
}

function ServerItem({ server }: { readonly server: DeclaredServer }) {
  const { name, egg, node, limits, allocations, suspended, build, owner } = server;
  const [first] = allocations;
  const place = first === undefined ? '' : `${first.ip} port ${first.port}`;
  const { memory, cpu, disk } = limits;
  return (
    <li>
      <div>
        <div className="strong">{name}</div>
        <div className="dim">{text.about(egg, node, place)}</div>
        <div className="dim">
          {text.limits(formatCount(memory), formatCount(cpu), formatCount(disk))}
        </div>
      </div>
      <div className="row-end">
        {suspended && <Pill tone="warn">{text.suspended}</Pill>}
        <Pill tone={TONES[build.state] ?? 'neutral'}>
          {text.states[build.state] ?? build.state}
        </Pill>
        <OwnerPill owner={owner} />
        <ServerButtons server={server} />
      </div>
      {build.reason !== null && <p className="item-note">{build.reason}</p>}
    </li>
  );
}

function ServerButtons({ server }: { readonly server: DeclaredServer }) {
  const { uuid, name, suspended, owner } = server;
  const [isMoving, setMoving] = useState(false);
  const refusal = owner === 'fleet' ? text.ofFleet : null;
  const act = suspended ? 'unsuspend' : 'suspend';
  const acts = [
    [act, () => (suspended ? personClient.unsuspendServer : personClient.suspendServer)({ uuid })],
    ['reinstall', () => personClient.reinstallServer({ uuid })],
    ['remove', () => personClient.removeServer({ uuid })],
  ] as const;
  return (
    <>
      {acts.map(([verb, write]) => (
        <ConfirmButton<object>
          key={verb}
          size="compact-sm"
          aria-label={text[`${verb}Of`](name)}
          refusal={refusal}
          title={text.ask(text[verb], name)}
          question={text[`${verb}Text`]}
          write={write}
        >
          {text[verb]}
        </ConfirmButton>
      ))}
      <RoleButton
        size="compact-sm"
        variant="default"
        aria-label={text.moveOf(name)}
        refusal={refusal}
        onClick={() => setMoving(true)}
      >
        {text.move}
      </RoleButton>
      {isMoving && (
        <Suspense>
          <MoveServer server={server} onClose={() => setMoving(false)} />
        </Suspense>
      )}
    </>
  );
}
