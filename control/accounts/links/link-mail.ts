import { findOrganisation } from '../../access/index.ts';
import type { Tx } from '../../db/database.ts';
import type { Call } from '../../http/operations/operation.ts';
import type { Mail, Message } from '../../mail/index.ts';
import { createLink, type Making, type NewLink } from './link-store.ts';

/** Dependencies of making links for people. */
export interface LinkDeps {
  /** The URL without a trailing slash. */
  readonly publicUrl: string;
  /** Null: the creator of a link gives it to the person. */
  readonly mail: Mail | null;
}

interface Wanted extends NewLink {
  readonly email: string;
  /** The slug of its organisation; null without one. */
  readonly organisation: string | null;
  /** The name of its one server. */
  readonly serverName?: string;
}

/**
 * Makes a link, mails it after the commit if there is a mail server, and answers it. The mail has a token of its own: to
 * accept that one proves the address, which the one of the answer does not.
 */
export async function makeLink(
  call: Pick<Call, 'afterCommit'>,
  tx: Tx,
  { organisation: slug, serverName, ...link }: Wanted,
  { mail, ...how }: LinkDeps & Pick<Making, 'actor' | 'makerId' | 'makerKeyId'>,
) {
  const isMailed = mail?.allows(how.actor.name, link.organisationId ?? null) ?? false;
  const { url, mailedUrl, expiresAt } = await createLink(tx, link, { ...how, isMailed });
  const organisation = slug === null ? null : await findOrganisation(tx, slug);
  if (mailedUrl !== null) {
    const name = organisation?.name ?? null;
    const message = messageOf({ ...link, url: mailedUrl, expiresAt, name, serverName });
    call.afterCommit(() => mail?.send(message));
  }
  return { url, expires_at: expiresAt.toISOString(), mailed_to: isMailed ? link.email : null };
}

interface Content {
  readonly kind: NewLink['kind'];
  readonly email: string;
  readonly url: string;
  readonly expiresAt: Date;
  /** The name of the organisation. */
  readonly name: string | null;
  /** The name of its one server. */
  readonly serverName: string | undefined;
}

function messageOf({ kind, email: to, url, expiresAt, name, serverName }: Content): Message {
  const end = `It works once, until ${expiresAt.toISOString().slice(0, 16).replace('T', ' ')} UTC.`;
  if (kind === 'reset') {
    return {
      to,
      subject: 'A new password for Portcullis',
      text: `Somebody who runs Portcullis made this link for you to choose a new password:\n\n${url}\n\n${end}\n`,
    };
  }
  const one = serverName === undefined ? '' : `the game server ${serverName} of `;
  const where = `${one}${name === null ? 'Portcullis' : `${name} on Portcullis`}`;
  return {
    to,
    subject: `Invitation to ${where}`,
    text: `You are invited to ${where}:\n\n${url}\n\n${end}\nIf you expect no invitation, ignore this message.\n`,
  };
}
