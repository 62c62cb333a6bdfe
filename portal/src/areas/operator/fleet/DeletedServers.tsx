import type { DeletedServers as Deleted } from '@portcullis/client/index.ts';
import { useQuery } from '@tanstack/react-query';
import { ConfirmButton } from '../../../components/forms/ConfirmButton.tsx';
import { ListPanel } from '../../../components/list/ListPanel.tsx';
import { Pill } from '../../../components/Pill.tsx';
import { deletedServerMessages as text } from '../../../messages/servers/deleted.ts';
import { personClient } from '../../../session/session.ts';
import { LIST_MS } from '../queries.ts';

type Server = Deleted['data'][number];

/** Servers that were deleted, as long as their files are there. Without any there is no list. */
export default function DeletedServers() {
  const deleted = useQuery({
    queryKey: ['operator', 'deleted-servers'],
    queryFn: async ({ signal }) => (await personClient.listDeletedServers({}, { signal })).data,
    refetchInterval: LIST_MS,
  });
  if ((deleted.data?.length ?? 0) === 0) return null;
  return (
    <ListPanel title={text.title} isHeaded lead={text.lead} query={deleted} rows={deleted.data}>
      {(rows) => (
        <ul className="items">
          {rows.map((server) => (
            <Item key={`${server.uuid} ${server.node}`} server={server} />
          ))}
        </ul>
      )}
    </ListPanel>
  );
}

function Item({ server }: { readonly server: Server }) {
  const { uuid, name, organisation, node, days_left: days, moved } = server;
  const isOver = days === 0 ? text.over : null;
  return (
    <li>
      <div>
        <div className="strong">{name}</div>
        <div className="dim">{text.about(organisation, node)}</div>
      </div>
      <div className="row-end">
        {moved && <Pill tone="neutral">{text.moved}</Pill>}
        <Pill tone={isOver === null ? 'neutral' : 'warn'}>{text.left(days)}</Pill>
        <ConfirmButton<object>
          size="compact-sm"
          aria-label={text.restoreOf(name)}
          refusal={moved ? text.elsewhere : isOver}
          title={text.restoreTitle(name)}
          question={text.restoreText}
          write={() => personClient.restoreServer({ uuid })}
        >
          {text.restore}
        </ConfirmButton>
        <ConfirmButton<object>
          size="compact-sm"
          aria-label={text.purgeOf(name)}
          refusal={isOver}
          title={text.purgeTitle(name)}
          question={text.purgeText}
          write={() => personClient.purgeServer({ uuid })}
        >
          {text.purge}
        </ConfirmButton>
      </div>
    </li>
  );
}
