import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { NewLink, People } from '@portcullis/client/index.ts';
import { UserPlus, Users } from 'lucide-react';
import { useState } from 'react';
import { ConfirmButton } from '../../../components/ConfirmButton.tsx';
import { ListPanel } from '../../../components/ListPanel.tsx';
import { Pill } from '../../../components/Pill.tsx';
import { SecretOnce } from '../../../components/SecretOnce.tsx';
import { Time } from '../../../components/Time.tsx';
import { formatMoment } from '../../../format.ts';
import { messages } from '../../../messages/index.ts';
import { personClient, useSession } from '../../../session/session.ts';
import { InvitePersonForm } from './InvitePersonForm.tsx';

const text = messages.operator.people;
const { columns } = text;
type KnownPerson = People['data'][number];
export type MadeLink = NewLink['data'] & { readonly email: string };

const SEARCH = {
  label: text.search,
  fieldsOf: ({ email, name, organisations }: KnownPerson) => [
    [email, name, ...organisations.map(({ slug }) => slug)].join(' '),
  ],
};

/** Everybody with an account, and links for those without. */
export function PeoplePanel() {
  const people = useQuery({
    queryKey: ['operator', 'people'],
    queryFn: async ({ signal }) => (await personClient.listPeople({}, { signal })).data,
  });
  const { person: self } = useSession();
  const [isInviting, setInviting] = useState(false);
  const [link, setLink] = useState<MadeLink | null>(null);
  const isSelf = ({ id }: KnownPerson): boolean => id === self?.id;
  return (
    <>
      <ListPanel<KnownPerson>
        title={text.title}
        query={people}
        rows={people.data}
        search={SEARCH}
        actions={
          <Button
            leftSection={<UserPlus size={15} aria-hidden="true" />}
            onClick={() => setInviting(true)}
          >
            {messages.members.invite}
          </Button>
        }
        above={
          isInviting && (
            <InvitePersonForm
              onClose={() => setInviting(false)}
              onInvited={(made) => {
                setInviting(false);
                setLink(made);
              }}
            />
          )
        }
        empty={{ icon: Users, ...text.none }}
        none={{ icon: Users, ...text.none }}
        keyOf={({ id }) => id}
        marksOf={({ disabled }) => ({ dim: disabled })}
        columns={[
          {
            title: columns.person,
            cell: (person) => (
              <>
                <div className="strong">
                  {person.name}{' '}
                  {isSelf(person) && <span className="dim">{messages.members.you}</span>}
                </div>
                <span className="dim">{person.email}</span>
              </>
            ),
          },
          {
            title: columns.organisations,
            className: 'dim',
            cell: ({ organisations }) =>
              organisations.map(({ slug, role }) => (
                <div key={slug}>
                  <span className="mono">{slug}</span> {messages.members.roleName(role)}
                </div>
              )),
          },
          { title: columns.state, cell: (person) => <State person={person} /> },
          {
            title: columns.seen,
            className: 'dim nowrap',
            cell: ({ last_seen_at: seen }) =>
              seen === null ? messages.members.never : <Time at={seen} />,
          },
          {
            title: columns.actions,
            isTitleHidden: true,
            cell: (person) => <Changes person={person} isSelf={isSelf(person)} onLink={setLink} />,
          },
        ]}
      />
      {link !== null && (
        <SecretOnce
          title={messages.members.linkTitle(link.email)}
          secret={link.url}
          onClose={() => setLink(null)}
        >
          {text.linkText(link.email, formatMoment(new Date(link.expires_at)))}{' '}
          {link.mailed_to !== null && messages.members.mailed(link.mailed_to)}
        </SecretOnce>
      )}
    </>
  );
}

function State({ person }: { readonly person: KnownPerson }) {
  return (
    <div className="pills">
      {person.operator && <Pill tone="info">{text.operator}</Pill>}
      {person.disabled && <Pill tone="bad">{text.disabled}</Pill>}
      <Pill tone={person.totp ? 'ok' : 'neutral'} plain>
        {person.totp ? text.totp : text.noTotp}
      </Pill>
    </div>
  );
}

interface ChangesProps {
  readonly person: KnownPerson;
  readonly isSelf: boolean;
  onLink(link: MadeLink): void;
}

function Changes({ person, isSelf, onLink }: ChangesProps) {
  const { id, email, operator, disabled } = person;
  const write = async (change: 'reset' | 'operator' | 'disabled'): Promise<void> => {
    if (change === 'reset') {
      onLink({ ...(await personClient.createResetLink({ person: id })).data, email });
    } else {
      const body = { operator, disabled, [change]: !person[change] };
      await personClient.changePerson({ person: id, body });
    }
  };
  return (
    <div className="row row-actions">
      {(['reset', 'operator', 'disabled'] as const).map((change) => (
        <ConfirmButton
          key={change}
          size="compact-sm"
          refusal={isSelf && change !== 'reset' ? text.notSelf : null}
          title={`${text.actions[change](person)}: ${person.name}`}
          question={text.explained[change](person)}
          write={() => write(change)}
        >
          {text.actions[change](person)}
        </ConfirmButton>
      ))}
    </div>
  );
}
