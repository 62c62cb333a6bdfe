import { Button, PasswordInput, TextInput } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { type SubmitEvent, useState } from 'react';
import { Notice } from '../components/Notice.tsx';
import { messages } from '../messages/index.ts';
import { type Identity, personClient } from './session.ts';

const text = messages.link;

/** Accepts a one-time link (first operator, invitation, new password), whose token is behind the #. */
export function LinkPage({ onSignedIn }: { onSignedIn(identity: Identity): void }) {
  const [token] = useState(() => location.hash.slice(1));
  const [typed, setTyped] = useState({ email: '', name: '', password: '' });
  const link = useQuery({
    queryKey: ['link', token],
    queryFn: () => personClient.readLink({ body: { token } }),
    staleTime: Infinity,
  });
  const accept = useMutation({
    mutationFn: async () => {
      const { email, name, password } = typed;
      const body = {
        token,
        password,
        ...(email !== '' && { email }),
        ...(name !== '' && { name }),
      };
      const accepted = await personClient.acceptLink({ body });
      await personClient.signIn({ body: { email: accepted.data.email, password } });
      return (await personClient.readSession()).data;
    },
    onSuccess: (person) => onSignedIn({ kind: 'person', person }),
  });
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    accept.mutate();
  };
  const about = link.data?.data;
  const failed = link.error ?? accept.error;
  return (
    <main className="sign-in">
      <form className="card sign-in-card" onSubmit={submit}>
        <div className="brand">
          <img src="/favicon.svg" alt="" />
          {messages.product}
        </div>
        <h1>{text.title(about?.kind, about?.organisation ?? null)}</h1>
        <p>{about?.email ?? text.lead}</p>
        <div className="stack">
          {failed !== null && <Notice kind="bad">{failed.message}</Notice>}
          {about?.email === null && (
            <TextInput
              label={messages.signIn.email}
              type="email"
              autoComplete="username"
              value={typed.email}
              onChange={(event) => setTyped({ ...typed, email: event.currentTarget.value })}
              size="md"
              required
            />
          )}
          {about?.has_account === false && about.kind !== 'reset' && (
            <TextInput
              label={text.name}
              autoComplete="name"
              value={typed.name}
              onChange={(event) => setTyped({ ...typed, name: event.currentTarget.value })}
              size="md"
              required
            />
          )}
          <PasswordInput
            label={messages.signIn.password}
            description={about?.has_account === true ? text.ownPassword : text.newPassword}
            autoComplete={about?.has_account === true ? 'current-password' : 'new-password'}
            value={typed.password}
            onChange={(event) => setTyped({ ...typed, password: event.currentTarget.value })}
            size="md"
            required
            visibilityToggleButtonProps={{ 'aria-label': messages.signIn.showPassword }}
          />
          <Button
            type="submit"
            size="md"
            fullWidth
            loading={accept.isPending}
            disabled={about === undefined}
          >
            {messages.signIn.submit}
          </Button>
        </div>
      </form>
    </main>
  );
}
