import type { PortalEndpoint } from '../endpoint.ts';
import {
  Link,
  LinkAccepted,
  LinkAcceptance,
  LinkToken,
  PasskeyOptions,
  PasskeySignIn,
  SignedIn,
  SignInRequest,
} from '../schemas/portal-account.ts';
import { writeAnswers, deleteAnswers } from './portal-shared.ts';

const common = { tag: 'Account', role: 'anyone', method: 'POST' } as const;
const REFUSED = 'One refusal for an unknown email, a wrong password and a disabled account.';

/** Without a session: signing in, and links. */
export const PORTAL_SIGN_IN_ENDPOINTS = [
  {
    ...common,
    operationId: 'signIn',
    path: '/sign-in',
    write: 'instructs',
    summary: 'Sign in with email and password',
    description: `Begins a session with a new cookie. ${REFUSED} Ten wrong attempts lock the account’s password for 15 minutes (429).`,
    body: SignInRequest,
    responses: writeAnswers(200, 'Signed in, or a code is needed.', SignedIn),
  },
  {
    ...common,
    operationId: 'beginPasskeySignIn',
    path: '/sign-in/passkey/options',
    write: true,
    summary: 'Begin to sign in with a passkey',
    description: 'The challenge is valid for five minutes and once.',
    responses: deleteAnswers('What the browser needs.', PasskeyOptions),
  },
  {
    ...common,
    operationId: 'signInWithPasskey',
    path: '/sign-in/passkey',
    write: 'instructs',
    summary: 'Sign in with a passkey',
    description: 'A passkey with user verification is both factors.',
    body: PasskeySignIn,
    responses: writeAnswers(200, 'Signed in.', SignedIn),
  },
  {
    ...common,
    operationId: 'readLink',
    path: '/links/read',
    write: false,
    summary: 'Read what a link is for',
    description: 'A link that was used, was withdrawn or has expired is 404.',
    body: LinkToken,
    responses: writeAnswers(200, 'The link.', Link),
  },
  {
    ...common,
    operationId: 'acceptLink',
    path: '/links/accept',
    write: 'instructs',
    summary: 'Accept a link',
    description: 'Creates the account, adds the role, or sets the password. A link works once.',
    body: LinkAcceptance,
    responses: writeAnswers(200, 'Accepted.', LinkAccepted),
  },
] as const satisfies readonly PortalEndpoint[];
