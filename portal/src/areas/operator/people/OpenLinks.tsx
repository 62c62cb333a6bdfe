import { LinkTable } from '../../../components/LinkTable.tsx';
import { messages } from '../../../messages/index.ts';
import { personClient } from '../../../session/session.ts';
import { useLinks } from '../queries.ts';

const text = messages.operator.people.links;

/** Unused links of all organisations. Renders nothing when there are none. */
export function OpenLinks() {
  const links = useLinks().data ?? [];
  if (links.length === 0) return null;
  return (
    <LinkTable
      title={text.title}
      lead={text.lead}
      links={links.map((link) => ({
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
