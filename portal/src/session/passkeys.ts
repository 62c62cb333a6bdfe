import { messages } from '../messages/index.ts';
import { personClient } from './session.ts';

/** Why this page cannot use passkeys; null when it can. Browsers take them for names of hosts only, in secure contexts. */
export function passkeyRefusal(): string | null {
  if (typeof PublicKeyCredential === 'undefined') return messages.passkeys.unsupported;
  const isAddress = /^[\d.]+$/.test(location.hostname) || location.hostname.startsWith('[');
  return isAddress ? messages.passkeys.address : null;
}

/** Loaded with the first passkey, because most visits use none. */
const load = () => import('@simplewebauthn/browser');
type Registration = Parameters<Awaited<ReturnType<typeof load>>['startRegistration']>[0];
type Authentication = Parameters<Awaited<ReturnType<typeof load>>['startAuthentication']>[0];

/** Makes a passkey on this device, or on another one that the browser offers, for whoever is signed in. */
export async function addPasskey(wanted: { password: string; name: string }): Promise<void> {
  const { password, name } = wanted;
  const { data } = await personClient.beginPasskey({ body: { password } });
  const { startRegistration } = await load();
  const optionsJSON = data as unknown as Registration['optionsJSON'];
  const answer = await startRegistration({ optionsJSON });
  await personClient.addPasskey({ body: { name, credential: { ...answer } } });
}

/** Begins a session with a passkey. */
export async function signInWithPasskey(): Promise<void> {
  const { data } = await personClient.beginPasskeySignIn();
  const { startAuthentication } = await load();
  const optionsJSON = data as unknown as Authentication['optionsJSON'];
  const answer = await startAuthentication({ optionsJSON });
  await personClient.signInWithPasskey({ body: { credential: { ...answer } } });
}
