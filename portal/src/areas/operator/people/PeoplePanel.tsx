import { Button } from '@mantine/core';
import { UserPlus, Users } from 'lucide-react';
import { useState } from 'react';
import { EmptyState } from '../../../components/EmptyState.tsx';
import { Loaded } from '../../../components/Loaded.tsx';
import { SearchField } from '../../../components/SearchField.tsx';
import { SecretOnce } from '../../../components/SecretOnce.tsx';
import { formatMoment } from '../../../format.ts';
import { messages } from '../../../messages/index.ts';
import { type KnownPerson, type MadeLink, usePeople, useRefreshOperator } from '../queries.ts';
import { InvitePersonForm } from './InvitePersonForm.tsx';
import { PersonTable } from './PersonTable.tsx';

const text = messages.operator.people;

/** Everybody with an account, and links for those without. */
export function PeoplePanel() {
  const people = usePeople();
  const [search, setSearch] = useState('');
  const [isInviting, setInviting] = useState(false);
  const [link, setLink] = useState<MadeLink | null>(null);
  const refresh = useRefreshOperator();
  const show = (made: MadeLink): void => {
    setLink(made);
    refresh();
  };
  const matches = ({ email, name, organisations }: KnownPerson): boolean =>
    [email, name, ...organisations.map(({ slug }) => slug)]
      .join(' ')
      .toLowerCase()
      .includes(search.trim().toLowerCase());
  return (
    <section className="card" aria-label={text.title}>
      <div className="tools card-pad">
        <SearchField label={text.search} value={search} onChange={setSearch} />
        <div className="row-end">
          <Button
            leftSection={<UserPlus size={15} aria-hidden="true" />}
            onClick={() => setInviting(true)}
          >
            {messages.members.invite}
          </Button>
        </div>
      </div>
      {isInviting && (
        <InvitePersonForm
          onClose={() => setInviting(false)}
          onInvited={(made) => {
            setInviting(false);
            show(made);
          }}
        />
      )}
      <Loaded query={people}>
        {(list) => {
          const shown = list.filter(matches);
          if (shown.length > 0) return <PersonTable people={shown} onLink={show} />;
          return <EmptyState icon={Users} title={text.none.title} text={text.none.text} />;
        }}
      </Loaded>
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
    </section>
  );
}
