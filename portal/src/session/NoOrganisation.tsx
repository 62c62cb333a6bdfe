import { Button } from '@mantine/core';
import { Building2 } from 'lucide-react';
import { EmptyState } from '../components/EmptyState.tsx';
import { messages } from '../messages/index.ts';

const text = messages.noOrganisation;

/** For a person who belongs to no organisation and is no operator. */
export function NoOrganisation({
  email,
  onSignOut,
}: {
  readonly email: string;
  onSignOut(): void;
}) {
  return (
    <main className="sign-in">
      <div className="card">
        <EmptyState icon={Building2} title={text.title} text={text.text(email)}>
          <Button variant="subtle" color="gray" onClick={onSignOut}>
            {messages.shell.signOut}
          </Button>
        </EmptyState>
      </div>
    </main>
  );
}
