import { Button, Select } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { Building2 } from 'lucide-react';
import { type SubmitEvent, useState } from 'react';
import { EmptyState } from '../components/EmptyState.tsx';
import { Notice } from '../components/Notice.tsx';
import { messages } from '../messages/index.ts';
import { type Person, personClient } from './session.ts';

const text = messages.noOrganisation;

interface Props {
  readonly person: Person;
  onPerson(person: Person): void;
  onSignOut(): void;
}

/** For a person who belongs to no organisation; an operator may act for one, which the audit trail records. */
export function NoOrganisation({ person, onPerson, onSignOut }: Props) {
  return (
    <main className="sign-in">
      <div className="card">
        <EmptyState
          icon={Building2}
          title={person.operator ? text.operatorTitle : text.title}
          text={person.operator ? text.operatorText : text.text(person.email)}
        >
          {person.operator && <ActForm onPerson={onPerson} />}
          <Button variant="subtle" color="gray" onClick={onSignOut}>
            {messages.shell.signOut}
          </Button>
        </EmptyState>
      </div>
    </main>
  );
}

function ActForm({ onPerson }: Pick<Props, 'onPerson'>) {
  const [organisation, setOrganisation] = useState<string | null>(null);
  const known = useQuery({
    queryKey: ['operator', 'organisations'],
    queryFn: async () => (await personClient.listOrganisations()).data,
  });
  const choices = (known.data ?? []).map(({ slug, name }) => ({
    value: slug,
    label: `${name} (${slug})`,
  }));
  // Most installations begin with one.
  const chosen = organisation ?? (choices.length === 1 ? (choices[0]?.value ?? null) : null);
  const act = useMutation({
    mutationFn: async () => {
      await personClient.actFor({ body: { organisation: chosen ?? '' } });
      return (await personClient.readSession()).data;
    },
    onSuccess: onPerson,
  });
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    act.mutate();
  };
  const error = act.error ?? known.error;
  return (
    <form className="stack" onSubmit={submit}>
      {error !== null && <Notice kind="bad">{error.message}</Notice>}
      <Select
        label={text.organisation}
        placeholder={text.choose}
        data={choices}
        value={chosen}
        onChange={setOrganisation}
        searchable
        nothingFoundMessage={text.none}
        required
      />
      <Button type="submit" loading={act.isPending} disabled={chosen === null}>
        {text.act}
      </Button>
    </form>
  );
}
