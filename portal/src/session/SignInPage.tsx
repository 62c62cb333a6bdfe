import { Anchor, Button, PasswordInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { PermissionError } from '@portcullis/client/index.ts';
import { type SubmitEvent, useState } from 'react';
import { Notice } from '../components/Notice.tsx';
import { messages } from '../messages.ts';
import { clientOf } from './session.ts';

interface Props {
  /** Why the last session ended; null if nobody was signed in. */
  readonly reason: string | null;
  onSignedIn(key: string): void;
}

const text = messages.signIn;

/** Takes an API key, and lets it in once the service has accepted it. */
export function SignInPage({ reason, onSignedIn }: Props) {
  const [key, setKey] = useState('');
  const signIn = useMutation({
    mutationFn: async (sent: string) => {
      try {
        await clientOf(sent).listHeldAddresses({ query: { per_page: 1 } });
      } catch (error) {
        // The key is known, and its areas are shown as closed where they are.
        if (!(error instanceof PermissionError)) throw error;
      }
      return sent;
    },
    onSuccess: onSignedIn,
  });
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    signIn.mutate(key.trim());
  };
  return (
    <main className="sign-in">
      <form className="card sign-in-card" onSubmit={submit}>
        <div className="brand">
          <img src="/favicon.svg" alt="" />
          {messages.product}
        </div>
        <h1>{text.title}</h1>
        <p>{text.lead}</p>
        <div className="stack">
          {reason !== null && <Notice kind="warn">{reason}</Notice>}
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
          <p className="dim">
            {text.without}{' '}
            <Anchor href="/docs" underline="always">
              {text.reference}
            </Anchor>
          </p>
        </div>
      </form>
    </main>
  );
}
