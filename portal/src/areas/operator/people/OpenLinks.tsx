import { useQuery } from '@tanstack/react-query';
import { LinkTable } from '../../../components/list/LinkTable.tsx';
import { operatorMessages } from '../../../messages/operator.ts';
import { personClient } from '../../../session/session.ts';
import { LIST_MS } from '../queries.ts';

const text = operatorMessages.people.links;

/** Links of all organisations that nobody used yet. Renders nothing when there are none. */
export function OpenLinks() {
  const links = useQuery({
    queryKey: ['operator', 'links'],
    queryFn: async ({ signal }) => (await personClient.listLinks({}, { signal })).data,
    refetchInterval: LIST_MS,
  });
  if (links.data === undefined || links.data.length === 0) return null;
  return (
    <LinkTable
      title={text.title}
      lead={text.lead}
      links={links.data.map((link) => ({
        id: link.id,
        email: link.email ?? text.anyEmail,
        gives: text.gives(link.kind, link.organisation, link.role),
        createdBy: link.created_by,
        expiresAt: link.expires_at,
        mayWithdraw: true,
      }))}
      withdraw={(link) => personClient.withdrawLink({ link })}
    />
  );
}
