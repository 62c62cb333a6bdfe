import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useEffect, useMemo, useState } from 'react';
import { flushSync } from 'react-dom';
import { messages } from '../messages/index.ts';
import { LinkPage } from './LinkPage.tsx';
import { NoOrganisation } from './NoOrganisation.tsx';
import {
  chosenOrganisation,
  clientsOf,
  type Identity,
  loadIdentity,
  mayBeSignedIn,
  personClient,
  saveIdentity,
  saveOrganisation,
  SessionContext,
} from './session.ts';
import { SignInPage } from './SignInPage.tsx';

const LINK_PATH = '/link';

/** Shows the page to whoever is signed in, and the sign-in page instead of it to everybody else. */
export function SessionProvider({ children }: { readonly children: ReactNode }) {
  const [identity, setIdentity] = useState(loadIdentity);
  const [isLoading, setLoading] = useState(() => identity === null && mayBeSignedIn());
  const [isLeaving, setLeaving] = useState(false);
  const [isLink, setLink] = useState(() => location.pathname === LINK_PATH);
  const [reason, setReason] = useState<string | null>(null);
  const [chosen, setChosen] = useState<string | null>(null);
  const [isSwitching, setSwitching] = useState(false);
  const queries = useQueryClient();

  useEffect(() => {
    if (!isLoading) return;
    personClient
      .readSession()
      .then(({ data }) => setIdentity({ kind: 'person', person: data }))
      .catch(() => saveIdentity(null))
      .finally(() => setLoading(false));
  }, [isLoading]);

  const person = identity?.kind === 'person' ? identity.person : null;
  const organisation = person === null || isSwitching ? null : chosenOrganisation(person, chosen);
  const session = useMemo(() => {
    if (identity === null) return null;
    return {
      ...clientsOf(identity, organisation ?? ''),
      identity,
      person,
      organisation,
      signOut(why: string | null = null) {
        if (identity.kind === 'person') {
          // The response removes the cookie, also one of a sign-in that came before it.
          setLeaving(true);
          personClient
            .signOut()
            .catch(() => {})
            .finally(() => setLeaving(false));
        }
        saveIdentity(null);
        queries.clear();
        setReason(why);
        setChosen(null);
        setIdentity(null);
      },
      changeOrganisation(slug: string) {
        saveOrganisation(slug);
        queries.clear();
        setChosen(slug);
      },
      async actFor(slug: string | null) {
        // What shows an organisation goes first, so that it requests nothing that the session may not see any more.
        flushSync(() => setSwitching(true));
        try {
          if (slug === null) await personClient.stopActing();
          else await personClient.actFor({ body: { organisation: slug } });
          const { data } = await personClient.readSession();
          queries.clear();
          if (slug !== null) saveOrganisation(slug);
          setChosen(slug);
          setIdentity({ kind: 'person', person: data });
        } finally {
          setSwitching(false);
        }
      },
      async refreshPerson() {
        if (identity.kind !== 'person') return;
        setIdentity({ kind: 'person', person: (await personClient.readSession()).data });
      },
    };
  }, [identity, person, organisation, queries]);

  const accept = (accepted: Identity): void => {
    saveIdentity(accepted);
    setReason(null);
    if (isLink) history.replaceState(null, '', '/');
    setLink(false);
    setIdentity(accepted);
  };
  if (isLink) return <LinkPage onSignedIn={accept} />;
  if (isLoading || isLeaving) return <div className="sign-in">{messages.loading}</div>;
  if (session === null) return <SignInPage reason={reason} onSignedIn={accept} />;
  if (person !== null && organisation === null && !person.operator) {
    return <NoOrganisation email={person.email} onSignOut={() => session.signOut()} />;
  }
  return <SessionContext value={session}>{children}</SessionContext>;
}
