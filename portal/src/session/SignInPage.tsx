import { Anchor, Button, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { PermissionError } from '@portcullis/client/index.ts';
import { Fingerprint } from 'lucide-react';
import { useState } from 'react';
import { Notice } from '../components/Notice.tsx';
import { PasswordField } from '../components/forms/PasswordField.tsx';
import { WriteForm } from '../components/forms/WriteForm.tsx';
import { messages } from '../messages/index.ts';
import { passkeyRefusal, signInWithPasskey } from './passkeys.ts';
import { clientsOf, type Identity, personClient } from './session.ts';

interface Props {
  /** Why the last session ended; null if nobody was signed in. */
  readonly reason: string | null;
  onSignedIn(identity: Identity): void;
}

const text = messages.signIn;
const SUBMIT = { size: 'md', fullWidth: true } as const;

/** Signs in by email and password, with a code where one is set up; or by an API key. */
export function SignInPage({ reason, onSignedIn }: Props) {
  const [byKey, setByKey] = useState(false);
  return (
    <main className="sign-in">
      <div className="card sign-in-card">
        <div className="brand">
          <img src="/favicon.svg" alt="" />
          {messages.product}
        </div>
        <h1>{text.title}</h1>
        <p>{text.lead}</p>
        <div className="stack">
          {reason !== null && <Notice kind="warn">{reason}</Notice>}
          {byKey ? <KeyForm onSignedIn={onSignedIn} /> : <PersonForm onSignedIn={onSignedIn} />}
          {!byKey && passkeyRefusal() === null && <PasskeyButton onSignedIn={onSignedIn} />}
          <Button variant="subtle" color="gray" fullWidth onClick={() => setByKey(!byKey)}>
            {byKey ? text.byPerson : text.byKey}
          </Button>
          <p className="dim">
            {byKey ? text.withoutKey : text.without}{' '}
            <Anchor href="/docs" underline="always">
              {text.reference}
            </Anchor>
          </p>
        </div>
      </div>
    </main>
  );
}

function PersonForm({ onSignedIn }: Pick<Props, 'onSignedIn'>) {
  const [needsCode, setNeedsCode] = useState(false);
  return (
    <WriteForm
      initial={{ email: '', password: '', code: '' }}
      write={async ({ code, ...body }) => {
        const typed = code.trim();
        const reply = await personClient.signIn({
          body: typed === '' ? body : { ...body, code: typed },
        });
        return reply.data.signed_in ? (await personClient.readSession()).data : null;
      }}
      onDone={(person) => {
        if (person === null) setNeedsCode(true);
        else onSignedIn({ kind: 'person', person });
      }}
      submit={text.submit}
      submitProps={SUBMIT}
    >
      {(form) => (
        <>
          <TextInput
            label={text.email}
            type="email"
            autoComplete="username"
            size="md"
            autoFocus
            required
            {...form.getInputProps('email')}
          />
          <PasswordField
            label={text.password}
            autoComplete="current-password"
            size="md"
            {...form.getInputProps('password')}
          />
          {needsCode && (
            <TextInput
              label={text.code}
              description={text.codeHint}
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
  );
}

/** The browser shows which passkeys there are, so that nothing is typed. */
function PasskeyButton({ onSignedIn }: Pick<Props, 'onSignedIn'>) {
  const signIn = useMutation({
    mutationFn: async () => {
      await signInWithPasskey();
      return (await personClient.readSession()).data;
    },
    onSuccess: (person) => onSignedIn({ kind: 'person', person }),
  });
  return (
    <>
      {signIn.error !== null && <Notice kind="bad">{signIn.error.message}</Notice>}
      <Button
        variant="default"
        size="md"
        fullWidth
        leftSection={<Fingerprint size={17} aria-hidden="true" />}
        loading={signIn.isPending}
        onClick={() => signIn.mutate()}
      >
        {messages.passkeys.signIn}
      </Button>
    </>
  );
}

/** Takes an API key, and lets it in once the service has accepted it. */
function KeyForm({ onSignedIn }: Pick<Props, 'onSignedIn'>) {
  return (
    <WriteForm
      initial={{ key: '' }}
      write={async ({ key }): Promise<Identity> => {
        const identity: Identity = { kind: 'key', key: key.trim() };
        try {
          await clientsOf(identity, '').client.listHeldAddresses({ query: { per_page: 1 } });
        } catch (error) {
          // The key is known, and its areas are shown as closed where they are.
          if (!(error instanceof PermissionError)) throw error;
        }
        return identity;
      }}
      onDone={onSignedIn}
      submit={text.submit}
      submitProps={SUBMIT}
    >
      {(form) => (
        <PasswordField
          label={text.key}
          description={text.keyHint}
          placeholder="pcl_…"
          autoComplete="off"
          spellCheck={false}
          autoFocus
          size="md"
          visibilityToggleButtonProps={{ 'aria-label': text.show }}
          {...form.getInputProps('key')}
        />
      )}
    </WriteForm>
  );
}
