import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useMemo, useState } from 'react';
import { clientOf, loadKey, saveKey, SessionContext } from './session.ts';
import { SignInPage } from './SignInPage.tsx';

/** Shows the page to whoever is signed in, and the sign-in page instead of it to everybody else. */
export function SessionProvider({ children }: { readonly children: ReactNode }) {
  const [key, setKey] = useState(loadKey);
  const [reason, setReason] = useState<string | null>(null);
  const queries = useQueryClient();
  const session = useMemo(() => {
    if (key === null) return null;
    return {
      client: clientOf(key),
      signOut(why: string | null = null) {
        saveKey(null);
        queries.clear();
        setReason(why);
        setKey(null);
      },
    };
  }, [key, queries]);

  if (session === null) {
    return (
      <SignInPage
        reason={reason}
        onSignedIn={(accepted) => {
          saveKey(accepted);
          setReason(null);
          setKey(accepted);
        }}
      />
    );
  }
  return <SessionContext value={session}>{children}</SessionContext>;
}
