import { Button, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { Building2 } from 'lucide-react';
import { type SubmitEvent, useState } from 'react';
import { EmptyState } from '../components/EmptyState.tsx';
import { Notice } from '../components/Notice.tsx';
import { messages } from '../messages.ts';
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
  const [organisation, setOrganisation] = useState('');
  const act = useMutation({
    mutationFn: async () => {
      await personClient.actFor({ body: { organisation: organisation.trim() } });
      return (await personClient.readSession()).data;
    },
    onSuccess: onPerson,
  });
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    act.mutate();
  };
  return (
    <form className="stack" onSubmit={submit}>
      {act.error !== null && <Notice kind="bad">{act.error.message}</Notice>}
      <TextInput
        label={text.organisation}
        placeholder="acme"
        value={organisation}
        onChange={(event) => setOrganisation(event.currentTarget.value)}
        autoFocus
        required
      />
      <Button type="submit" loading={act.isPending}>
        {text.act}
      </Button>
    </form>
  );
}
