import { Anchor, Button, PasswordInput, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { PermissionError } from '@portcullis/client/index.ts';
import { Fingerprint } from 'lucide-react';
import { type SubmitEvent, useState } from 'react';
import { Notice } from '../components/Notice.tsx';
import { messages } from '../messages/index.ts';
import { passkeyRefusal, signInWithPasskey } from './passkeys.ts';
import { clientsOf, type Identity, personClient } from './session.ts';

interface Props {
  /** Why the last session ended; null if nobody was signed in. */
  readonly reason: string | null;
  onSignedIn(identity: Identity): void;
}

const text = messages.signIn;

/** By email and password, with a code where one is set up; or by an API key. */
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
  const [typed, setTyped] = useState({ email: '', password: '', code: '' });
  const [needsCode, setNeedsCode] = useState(false);
  const signIn = useMutation({
    mutationFn: async () => {
      const { code, ...body } = typed;
      const reply = await personClient.signIn({ body: code === '' ? body : { ...body, code } });
      return reply.data.signed_in ? (await personClient.readSession()).data : null;
    },
    onSuccess(person) {
      if (person === null) setNeedsCode(true);
      else onSignedIn({ kind: 'person', person });
    },
  });
  const change = (part: Partial<typeof typed>): void => setTyped({ ...typed, ...part });
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    signIn.mutate();
  };
  return (
    <form className="stack" onSubmit={submit}>
      {signIn.error !== null && <Notice kind="bad">{signIn.error.message}</Notice>}
      <TextInput
        label={text.email}
        type="email"
        autoComplete="username"
        value={typed.email}
        onChange={(event) => change({ email: event.currentTarget.value })}
        size="md"
        autoFocus
        required
      />
      <PasswordInput
        label={text.password}
        autoComplete="current-password"
        value={typed.password}
        onChange={(event) => change({ password: event.currentTarget.value })}
        size="md"
        required
        visibilityToggleButtonProps={{ 'aria-label': text.showPassword }}
      />
      {needsCode && (
        <TextInput
          label={text.code}
          description={text.codeHint}
          autoComplete="one-time-code"
          value={typed.code}
          onChange={(event) => change({ code: event.currentTarget.value.trim() })}
          size="md"
          autoFocus
          required
        />
      )}
      <Button type="submit" size="md" fullWidth loading={signIn.isPending}>
        {text.submit}
      </Button>
    </form>
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
  const [key, setKey] = useState('');
  const signIn = useMutation({
    mutationFn: async (identity: Identity) => {
      try {
        await clientsOf(identity, '').client.listHeldAddresses({ query: { per_page: 1 } });
      } catch (error) {
        // The key is known, and its areas are shown as closed where they are.
        if (!(error instanceof PermissionError)) throw error;
      }
      return identity;
    },
    onSuccess: onSignedIn,
  });
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    signIn.mutate({ kind: 'key', key: key.trim() });
  };
  return (
    <form className="stack" onSubmit={submit}>
      <PasswordInput
        label={text.key}
        description={text.keyHint}
        placeholder="pcl_…"
        value={key}
        onChange={(event) => setKey(event.currentTarget.value)}
        error={signIn.error?.message}
        autoComplete="off"
        spellCheck={false}
        autoFocus
        required
        size="md"
        visibilityToggleButtonProps={{ 'aria-label': text.show }}
      />
      <Button type="submit" size="md" fullWidth loading={signIn.isPending}>
        {text.submit}
      </Button>
    </form>
  );
}
