import { Select, Tooltip } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { Members } from '@portcullis/client/index.ts';
import { UserMinus, UserPlus, Users } from 'lucide-react';
import { useState } from 'react';
import type { Column } from '../../../components/list/columns.ts';
import { LinkOnce, LinkTable, type MadeLink } from '../../../components/list/LinkTable.tsx';
import { ListPanel } from '../../../components/list/ListPanel.tsx';
import { Pill } from '../../../components/Pill.tsx';
import { RoleIcon } from '../../../components/RoleIcon.tsx';
import { timeColumn } from '../../../components/Time.tsx';
import { useWrite } from '../../../components/forms/use-write.ts';
import { WriteDialog } from '../../../components/forms/WriteDialog.tsx';
import { messages } from '../../../messages/index.ts';
import { useRole } from '../../../session/rights.ts';
import { type Role, ROLES } from '../../../session/roles.ts';
import { usePeopleClient, useSession } from '../../../session/session.ts';
import { InviteForm } from './InviteForm.tsx';
import { mayDecide, rolesBelow } from './member-roles.ts';

const text = messages.members;
type Member = Members['data']['members'][number];

/** Who belongs to the organisation, with which role, and who is invited. */
export default function MembersPanel() {
  const client = usePeopleClient();
  const own = useRole();
  const [link, setLink] = useState<MadeLink | null>(null);
  const members = useQuery({
    queryKey: ['members'],
    queryFn: async ({ signal }) => (await client.listMembers({}, { signal })).data,
  });
  const invitations = members.data?.invitations ?? [];
  return (
    <div className="stack">
      <MemberList query={members} members={members.data?.members} onInvited={setLink} />
      {invitations.length > 0 && (
        <LinkTable
          title={text.invitations}
          lead={text.invitationsLead}
          links={invitations.map((each) => ({
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
      {link !== null && <LinkOnce link={link} say={text.linkText} onClose={() => setLink(null)} />}
    </div>
  );
}

interface ListProps {
  readonly query: { readonly error: Error | null; refetch(): unknown };
  readonly members: readonly Member[] | undefined;
  onInvited(link: MadeLink): void;
}

interface RoleChange {
  readonly member: Member;
  readonly role: Role;
}

function MemberList({ query, members, onInvited }: ListProps) {
  const client = usePeopleClient();
  const [removed, setRemoved] = useState<Member | null>(null);
  const setRole = (id: number, role: Role) => client.changeMember({ member: id, body: { role } });
  const change = useWrite(({ member, role }: RoleChange) => setRole(member.id, role), {
    say: (_, { member, role }) => ({
      text: text.roleChanged(member.name, role),
      undo: () => setRole(member.id, member.role as Role),
    }),
  });
  const columns = useColumns({
    isBusy: change.isPending,
    onRole: (member, role) => change.mutate({ member, role }),
    onRemove: setRemoved,
  });
  return (
    <>
      <ListPanel
        title={text.title}
        lead={text.lead}
        query={query}
        rows={members}
        columns={columns}
        keyOf={({ id }) => id}
        error={change.error}
        empty={{ icon: Users, ...text.empty }}
        add={{
          label: text.invite,
          icon: UserPlus,
          needs: 'admin',
          form: (close) => <InviteForm onClose={close} onInvited={onInvited} />,
        }}
      />
      {removed !== null && (
        <WriteDialog
          title={text.removeTitle(removed.name)}
          submit={text.remove}
          isFinal
          write={() => client.removeMember({ member: removed.id })}
          onClose={() => setRemoved(null)}
        >
          {text.removeText(removed.email)}
        </WriteDialog>
      )}
    </>
  );
}

interface Acts {
  readonly isBusy: boolean;
  onRole(member: Member, role: Role): void;
  onRemove(member: Member): void;
}

function useColumns({ isBusy, onRole, onRemove }: Acts): readonly Column<Member>[] {
  const { person } = useSession();
  const own = useRole();
  const isSelf = ({ id }: Member): boolean => id === person?.id;
  return [
    {
      title: text.columns.person,
      cell: (member) => (
        <>
          <div className="strong">
            {member.name} {isSelf(member) && <span className="dim">{text.you}</span>}
          </div>
          <span className="dim">{member.email}</span>
        </>
      ),
    },
    {
      title: text.columns.role,
      cell: (member) =>
        mayDecide(own, member.role) ? (
          <Select
            className="role-select"
            aria-label={text.roleOf(member.name)}
            data={rolesBelow(own).map((value) => ({ value, label: text.roles[value] }))}
            value={member.role as Role}
            disabled={isBusy}
            onChange={(role) => role !== null && role !== member.role && onRole(member, role)}
          />
        ) : (
          <Tooltip label={text.notYours}>
            <span tabIndex={0}>
              <Pill tone="neutral" plain>
                {text.roleName(member.role)}
              </Pill>
            </span>
          </Tooltip>
        ),
    },
    timeColumn(text.columns.since, ({ since }) => since),
    timeColumn(text.columns.seen, ({ last_seen_at: at }) => at, text.never),
    {
      title: text.columns.actions,
      isTitleHidden: true,
      isNumber: true,
      cell: (member) =>
        mayDecide(own, member.role) && (
          <RoleIcon
            label={text.removeOf(member.name)}
            hint={isSelf(member) ? text.leave : text.remove}
            onClick={() => onRemove(member)}
          >
            <UserMinus size={15} />
          </RoleIcon>
        ),
    },
  ];
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
