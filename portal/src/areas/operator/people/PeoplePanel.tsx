import { useQuery } from '@tanstack/react-query';
import type { People } from '@portcullis/client/index.ts';
import { UserPlus, Users } from 'lucide-react';
import { useState } from 'react';
import { ConfirmButton } from '../../../components/forms/ConfirmButton.tsx';
import { LinkOnce, type MadeLink } from '../../../components/list/LinkTable.tsx';
import { ListPanel } from '../../../components/list/ListPanel.tsx';
import { Pill } from '../../../components/Pill.tsx';
import { timeColumn } from '../../../components/Time.tsx';
import { messages } from '../../../messages/index.ts';
import { operatorMessages } from '../../../messages/operator.ts';
import { personClient, useSession } from '../../../session/session.ts';
import { InvitePersonForm } from './InvitePersonForm.tsx';

const text = operatorMessages.people;
const { columns } = text;
type KnownPerson = People['data'][number];

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
  const [link, setLink] = useState<MadeLink | null>(null);
  const isSelf = ({ id }: KnownPerson): boolean => id === self?.id;
  return (
    <>
      <ListPanel<KnownPerson>
        title={text.title}
        query={people}
        rows={people.data}
        search={SEARCH}
        add={{
          label: messages.members.invite,
          icon: UserPlus,
          form: (close) => <InvitePersonForm onClose={close} onInvited={setLink} />,
        }}
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
          { title: columns.state, card: 'end', cell: (person) => <State person={person} /> },
          timeColumn(columns.seen, (person) => person.last_seen_at, messages.members.never),
          {
            title: columns.actions,
            isTitleHidden: true,
            card: 'foot',
            cell: (person) => <Changes person={person} isSelf={isSelf(person)} onLink={setLink} />,
          },
        ]}
      />
      {link !== null && <LinkOnce link={link} say={text.linkText} onClose={() => setLink(null)} />}
    </>
  );
}

function State({ person }: { readonly person: KnownPerson }) {
  return (
    <div className="pills">
      {person.operator && <Pill tone="info">{text.operator}</Pill>}
      {person.disabled && <Pill tone="bad">{text.disabled}</Pill>}
      {!person.proven && <Pill tone="warn">{text.unproven}</Pill>}
      <Pill tone={person.totp ? 'ok' : 'neutral'} plain>
        {person.totp ? text.totp : text.noTotp}
      </Pill>
      {person.passkeys > 0 && (
        <Pill tone="neutral" plain>
          {text.passkeys(person.passkeys)}
        </Pill>
      )}
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
