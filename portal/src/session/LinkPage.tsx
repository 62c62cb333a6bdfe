import { TextInput } from '@mantine/core';
import { ProblemError } from '@portcullis/client/index.ts';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Notice } from '../components/Notice.tsx';
import { PasswordField } from '../components/forms/PasswordField.tsx';
import { WriteForm } from '../components/forms/WriteForm.tsx';
import { messages } from '../messages/index.ts';
import { type Identity, personClient } from './session.ts';

const text = messages.link;

/** The password was right, and the account has an authenticator app. */
function asksForCode(error: unknown): boolean {
  return error instanceof ProblemError && error.errors.some(({ pointer }) => pointer === '/code');
}

/** Accepts a one-time link (first operator, invitation, new password), whose token is behind the #. */
export function LinkPage({ onSignedIn }: { onSignedIn(identity: Identity): void }) {
  const [token] = useState(() => location.hash.slice(1));
  const link = useQuery({
    queryKey: ['link', token],
    queryFn: () => personClient.readLink({ body: { token } }),
    // Never read again: once it is accepted, it is gone.
    staleTime: 'static',
  });
  const [needsCode, setNeedsCode] = useState(false);
  const about = link.data?.data;
  const hasAccount = about?.has_account === true;
  return (
    <main className="sign-in">
      <div className="card sign-in-card">
        <div className="brand">
          <img src="/favicon.svg" alt="" />
          {messages.product}
        </div>
        <h1>{text.title(about?.kind, about?.server ?? about?.organisation ?? null)}</h1>
        <p>{about?.email ?? (about?.kind === 'operator' ? text.operatorLead : text.lead)}</p>
        <WriteForm
          initial={{ email: '', name: '', password: '', code: '' }}
          refusal={() => about === undefined}
          write={async ({ email, name, password, code }) => {
            const body = {
              token,
              password,
              ...(email !== '' && { email }),
              ...(name !== '' && { name }),
              ...(code !== '' && { code: code.trim() }),
            };
            await personClient.acceptLink({ body }).catch((error: unknown) => {
              if (asksForCode(error)) setNeedsCode(true);
              throw error;
            });
            return (await personClient.readSession()).data;
          }}
          onDone={(person) => onSignedIn({ kind: 'person', person })}
          submit={messages.signIn.submit}
          submitProps={{ size: 'md', fullWidth: true }}
        >
          {(form) => (
            <>
              {link.error !== null && <Notice kind="bad">{link.error.message}</Notice>}
              {about?.email === null && (
                <TextInput
                  label={messages.signIn.email}
                  type="email"
                  autoComplete="username"
                  size="md"
                  required
                  {...form.getInputProps('email')}
                />
              )}
              {about?.has_account === false && about.kind !== 'reset' && (
                <TextInput
                  label={text.name}
                  autoComplete="name"
                  size="md"
                  required
                  {...form.getInputProps('name')}
                />
              )}
              <PasswordField
                label={messages.signIn.password}
                description={hasAccount ? text.ownPassword : text.newPassword}
                autoComplete={hasAccount ? 'current-password' : 'new-password'}
                size="md"
                {...form.getInputProps('password')}
              />
              {needsCode && (
                <TextInput
                  label={messages.signIn.code}
                  description={messages.signIn.codeHint}
                  autoComplete="one-time-code"
                  size="md"
                  autoFocus
                  required
                  {...form.getInputProps('code')}
                />
              )}
            </>
          )}
        </WriteForm>
      </div>
    </main>
  );
}
