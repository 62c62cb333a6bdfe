import { TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ServerPeople } from '@portcullis/client/index.ts';
import { Lock, UserMinus, UserPen, UserPlus, Users } from 'lucide-react';
import { useState } from 'react';
import { EmptyState } from '../../../components/EmptyState.tsx';
import { WriteDialog } from '../../../components/forms/WriteDialog.tsx';
import { WriteForm } from '../../../components/forms/WriteForm.tsx';
import type { Column } from '../../../components/list/columns.ts';
import { LinkOnce, LinkTable, type MadeLink } from '../../../components/list/LinkTable.tsx';
import { ListPanel } from '../../../components/list/ListPanel.tsx';
import { RoleButton } from '../../../components/RoleButton.tsx';
import { RoleIcon } from '../../../components/RoleIcon.tsx';
import { timeColumn } from '../../../components/Time.tsx';
import { serverPeopleMessages as text } from '../../../messages/servers/people.ts';
import { useSession } from '../../../session/session.ts';
import { rightRefusal } from '../server-right.ts';
import { RightsField } from './RightsField.tsx';

type People = ServerPeople['data'];
type Person = People['people'][number];

interface Props {
  readonly uuid: string;
  /** The caller's own rights to the server. */
  readonly rights: readonly string[];
}

/** Who may do what with this server alone, and who is invited. */
export default function PeoplePanel({ uuid, rights }: Props) {
  const refusal = rightRefusal(rights, 'user.read');
  if (refusal === null) return <Shown uuid={uuid} rights={rights} />;
  return <EmptyState inCard icon={Lock} {...text.refused} text={refusal} />;
}

function Shown({ uuid, rights: own }: Props) {
  const { client } = useSession();
  const [link, setLink] = useState<MadeLink | null>(null);
  const [isInviting, setInviting] = useState(false);
  const [changed, setChanged] = useState<Person | null>(null);
  const [removed, setRemoved] = useState<Person | null>(null);
  const people = useQuery({
    queryKey: ['server', uuid, 'people'],
    queryFn: async ({ signal }) =>
      (await client.listServerPeople({ slice: uuid }, { signal })).data,
  });
  const { rights = [], invitations = [] } = people.data ?? {};
  return (
    <div className="stack">
      <ListPanel<Person>
        title={text.title}
        lead={text.lead}
        query={people}
        rows={people.data?.people}
        columns={columnsOf(own, { onChange: setChanged, onRemove: setRemoved })}
        keyOf={({ id }) => id}
        empty={{ icon: Users, ...text.empty }}
        actions={
          <RoleButton
            refusal={rightRefusal(own, 'user.create')}
            leftSection={<UserPlus size={15} aria-hidden="true" />}
            onClick={() => setInviting(true)}
          >
            {text.invite}
          </RoleButton>
        }
        above={
          isInviting && (
            <InviteForm
              uuid={uuid}
              rights={rights}
              onClose={() => setInviting(false)}
              onInvited={setLink}
            />
          )
        }
      />
      {invitations.length > 0 && (
        <LinkTable
          title={text.invitations}
          lead={text.invitationsLead}
          links={invitations.map((each) => ({
            id: each.id,
            email: each.email,
            gives: text.gives(each.rights),
            createdBy: each.created_by,
            expiresAt: each.expires_at,
            mayWithdraw: own.includes('user.delete'),
          }))}
          withdraw={(invitation) => client.withdrawServerInvitation({ slice: uuid, invitation })}
        />
      )}
      {changed !== null && (
        <WriteDialog
          title={text.changeOf(changed.name)}
          size="lg"
          submit={text.save}
          initial={{ rights: [...changed.rights] }}
          refusal={({ rights: chosen }) => (chosen.length === 0 ? text.none : null)}
          write={(body) => client.setServerRights({ slice: uuid, person: changed.id, body })}
          onClose={() => setChanged(null)}
        >
          {(form) => (
            <RightsField
              rights={rights}
              chosen={form.values.rights}
              onChange={(chosen) => form.setFieldValue('rights', chosen)}
            />
          )}
        </WriteDialog>
      )}
      {removed !== null && (
        <RemoveDialog uuid={uuid} person={removed} onClose={() => setRemoved(null)} />
      )}
      {link !== null && <LinkOnce link={link} say={text.linkText} onClose={() => setLink(null)} />}
    </div>
  );
}

interface RemoveProps {
  readonly uuid: string;
  readonly person: Person;
  onClose(): void;
}

function RemoveDialog({ uuid, person, onClose }: RemoveProps) {
  const { client } = useSession();
  return (
    <WriteDialog
      title={text.removeTitle(person.name)}
      submit={text.remove}
      isFinal
      write={() => client.removeFromServer({ slice: uuid, person: person.id })}
      onClose={onClose}
    >
      {text.removeText(person.email)}
    </WriteDialog>
  );
}

interface Acts {
  onChange(person: Person): void;
  onRemove(person: Person): void;
}

function columnsOf(
  own: readonly string[],
  { onChange, onRemove }: Acts,
): readonly Column<Person>[] {
  return [
    {
      title: text.columns.person,
      cell: ({ name, email }) => (
        <>
          <div className="strong">{name}</div>
          <span className="dim">{email}</span>
        </>
      ),
    },
    {
      title: text.columns.rights,
      cell: ({ rights }) => <span className="mono dim">{rights.join(' ')}</span>,
    },
    timeColumn(text.columns.since, ({ since }) => since),
    {
      title: text.columns.actions,
      isTitleHidden: true,
      isNumber: true,
      cell: (person) => (
        <>
          <RoleIcon
            label={text.changeOf(person.name)}
            hint={text.change}
            refusal={rightRefusal(own, 'user.update')}
            onClick={() => onChange(person)}
          >
            <UserPen size={15} />
          </RoleIcon>
          <RoleIcon
            label={text.removeOf(person.name)}
            hint={text.remove}
            refusal={rightRefusal(own, 'user.delete')}
            onClick={() => onRemove(person)}
          >
            <UserMinus size={15} />
          </RoleIcon>
        </>
      ),
    },
  ];
}

interface InviteProps {
  readonly uuid: string;
  readonly rights: People['rights'];
  onClose(): void;
  onInvited(link: MadeLink): void;
}

const EMPTY: { email: string; rights: string[] } = { email: '', rights: [] };

function InviteForm({ uuid, rights, onClose, onInvited }: InviteProps) {
  const { client } = useSession();
  return (
    <WriteForm
      label={text.invite}
      layout="panel"
      initial={EMPTY}
      refusal={({ email, rights: chosen }) =>
        email === '' || (chosen.length === 0 ? text.none : null)
      }
      write={async (body) => ({
        ...(await client.inviteToServer({ slice: uuid, body })).data,
        email: body.email,
      })}
      onDone={(link) => {
        onClose();
        onInvited(link);
      }}
      onCancel={onClose}
      submit={text.makeLink}
      note={text.note}
    >
      {(form) => (
        <>
          <TextInput
            autoFocus
            label={text.email}
            type="email"
            placeholder="friend@example.net"
            required
            {...form.getInputProps('email')}
          />
          <RightsField
            rights={rights}
            chosen={form.values.rights}
            onChange={(chosen) => form.setFieldValue('rights', chosen)}
          />
        </>
      )}
    </WriteForm>
  );
}
