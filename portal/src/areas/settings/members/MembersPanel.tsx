import { useQuery } from '@tanstack/react-query';
import type { NewLink } from '@portcullis/client/index.ts';
import { UserPlus, Users } from 'lucide-react';
import { useState } from 'react';
import { EmptyState } from '../../../components/EmptyState.tsx';
import { LinkTable } from '../../../components/LinkTable.tsx';
import { Loaded } from '../../../components/Loaded.tsx';
import { RoleButton } from '../../../components/RoleButton.tsx';
import { SecretOnce } from '../../../components/SecretOnce.tsx';
import { formatMoment } from '../../../format.ts';
import { messages } from '../../../messages/index.ts';
import { useRole } from '../../../session/rights.ts';
import { ROLES } from '../../../session/roles.ts';
import { usePeopleClient } from '../../../session/session.ts';
import { InviteForm } from './InviteForm.tsx';
import { mayDecide } from './member-roles.ts';
import { MemberTable } from './MemberTable.tsx';

const text = messages.members;

/** Who belongs to the organisation, with which role, and who is invited. */
export default function MembersPanel() {
  const client = usePeopleClient();
  const own = useRole();
  const [isInviting, setInviting] = useState(false);
  const [link, setLink] = useState<(NewLink['data'] & { readonly email: string }) | null>(null);
  const members = useQuery({
    queryKey: ['members'],
    queryFn: async ({ signal }) => (await client.listMembers({}, { signal })).data,
  });
  return (
    <div className="stack">
      <section className="card" aria-label={text.title}>
        <div className="tools card-pad">
          <p className="dim flat grow-text">{text.lead}</p>
          <div className="row-end">
            <RoleButton
              needs="admin"
              leftSection={<UserPlus size={15} aria-hidden="true" />}
              onClick={() => setInviting(true)}
            >
              {text.invite}
            </RoleButton>
          </div>
        </div>
        {isInviting && (
          <InviteForm
            onClose={() => setInviting(false)}
            onInvited={(made) => {
              setInviting(false);
              setLink(made);
            }}
          />
        )}
        <Loaded query={members}>
          {(data) =>
            data.members.length === 0 ? (
              <EmptyState icon={Users} title={text.empty.title} text={text.empty.text} />
            ) : (
              <MemberTable members={data.members} />
            )
          }
        </Loaded>
      </section>
      {members.data !== undefined && members.data.invitations.length > 0 && (
        <LinkTable
          title={text.invitations}
          lead={text.invitationsLead}
          links={members.data.invitations.map((each) => ({
            id: each.id,
            email: each.email,
            gives: text.roleName(each.role),
            createdBy: each.created_by,
            expiresAt: each.expires_at,
            mayWithdraw: mayDecide(own, each.role),
          }))}
          withdraw={(invitation) => client.withdrawInvitation({ invitation })}
        />
      )}
      <RolesExplained />
      {link !== null && (
        <SecretOnce
          title={text.linkTitle(link.email)}
          secret={link.url}
          onClose={() => setLink(null)}
        >
          {text.linkText(link.email, formatMoment(new Date(link.expires_at)))}{' '}
          {link.mailed_to !== null && text.mailed(link.mailed_to)}
        </SecretOnce>
      )}
    </div>
  );
}

function RolesExplained() {
  return (
    <section className="card card-pad">
      <h2>{text.rolesTitle}</h2>
      <p>{text.rolesLead}</p>
      <dl className="terms">
        {ROLES.toReversed().map((role) => (
          <div key={role}>
            <dt>{text.roles[role]}</dt>
            <dd>{text.roleText[role]}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
