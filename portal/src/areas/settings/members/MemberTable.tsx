import { ActionIcon, Select, Tooltip } from '@mantine/core';
import type { Members } from '@portcullis/client/index.ts';
import { UserMinus } from 'lucide-react';
import { useState } from 'react';
import { Pill } from '../../../components/Pill.tsx';
import { ProblemNotice } from '../../../components/ProblemNotice.tsx';
import { Time } from '../../../components/Time.tsx';
import { useWrite } from '../../../components/use-write.ts';
import { WriteDialog } from '../../../components/WriteDialog.tsx';
import { messages } from '../../../messages/index.ts';
import { useRole } from '../../../session/rights.ts';
import type { Role } from '../../../session/roles.ts';
import { usePeopleClient, useSession } from '../../../session/session.ts';
import { mayDecide, rolesBelow } from './member-roles.ts';

const text = messages.members;
type Member = Members['data']['members'][number];

export function MemberTable({ members }: { readonly members: readonly Member[] }) {
  const client = usePeopleClient();
  const [removed, setRemoved] = useState<Member | null>(null);
  const change = useWrite(({ member, role }: { member: number; role: Role }) =>
    client.changeMember({ member, body: { role } }),
  );
  return (
    <>
      {change.error !== null && (
        <div className="panel">
          <ProblemNotice error={change.error} />
        </div>
      )}
      <div className="scroll-x">
        <table className="plain-table">
          <thead>
            <tr>
              <th scope="col">{text.columns.person}</th>
              <th scope="col">{text.columns.role}</th>
              <th scope="col">{text.columns.since}</th>
              <th scope="col">{text.columns.seen}</th>
              <th scope="col">
                <span className="hidden">{text.columns.actions}</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {members.map((member) => (
              <MemberRow
                key={member.id}
                member={member}
                isBusy={change.isPending}
                onRole={(role) => change.mutate({ member: member.id, role })}
                onRemove={() => setRemoved(member)}
              />
            ))}
          </tbody>
        </table>
      </div>
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

interface RowProps {
  readonly member: Member;
  readonly isBusy: boolean;
  onRole(role: Role): void;
  onRemove(): void;
}

function MemberRow({ member, isBusy, onRole, onRemove }: RowProps) {
  const { person } = useSession();
  const own = useRole();
  const decides = mayDecide(own, member.role);
  const isSelf = member.id === person?.id;
  return (
    <tr>
      <td>
        <div className="strong">
          {member.name} {isSelf && <span className="dim">{text.you}</span>}
        </div>
        <span className="dim">{member.email}</span>
      </td>
      <td>
        {decides ? (
          <Select
            className="role-select"
            aria-label={text.roleOf(member.name)}
            data={rolesBelow(own).map((value) => ({ value, label: text.roles[value] }))}
            value={member.role as Role}
            disabled={isBusy}
            onChange={(role) => role !== null && role !== member.role && onRole(role)}
          />
        ) : (
          <Tooltip label={text.notYours}>
            <span tabIndex={0}>
              <Pill tone="neutral" plain>
                {text.roleName(member.role)}
              </Pill>
            </span>
          </Tooltip>
        )}
      </td>
      <td className="dim nowrap">
        <Time at={member.since} />
      </td>
      <td className="dim nowrap">
        {member.last_seen_at === null ? text.never : <Time at={member.last_seen_at} />}
      </td>
      <td className="num">
        {decides && (
          <Tooltip label={isSelf ? text.leave : text.remove}>
            <ActionIcon
              variant="subtle"
              color="gray"
              aria-label={text.removeOf(member.name)}
              onClick={onRemove}
            >
              <UserMinus size={15} />
            </ActionIcon>
          </Tooltip>
        )}
      </td>
    </tr>
  );
}
