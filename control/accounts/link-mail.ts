import { type Actor, findOrganisation } from '../access/index.ts';
import type { Tx } from '../db/database.ts';
import type { Call } from '../http/operations/operation.ts';
import type { Mail, Message } from '../mail/index.ts';
import { createLink, type NewLink } from './link-store.ts';

/** What making links for people needs. */
export interface LinkDeps {
  /** Without a trailing slash. */
  readonly publicUrl: string;
  /** Null: the creator of a link gives it to the person. */
  readonly mail: Mail | null;
}

interface Wanted extends NewLink {
  readonly email: string;
  /** The slug of its organisation; null without one. */
  readonly organisation: string | null;
}

/** Makes a link, mails it after the commit if there is a mail server, and answers it. */
export async function makeLink(
  call: Pick<Call, 'afterCommit'>,
  tx: Tx,
  { organisation: slug, ...link }: Wanted,
  { actor, publicUrl, mail }: LinkDeps & { readonly actor: Actor },
) {
  const { url, expiresAt } = await createLink(tx, link, { actor, publicUrl });
  const organisation = slug === null ? null : await findOrganisation(tx, slug);
  const isMailed = mail?.allows(actor.name) ?? false;
  if (isMailed) {
    const message = messageOf({ ...link, url, expiresAt, name: organisation?.name ?? null });
    call.afterCommit(() => mail?.send(message));
  }
  return { url, expires_at: expiresAt.toISOString(), mailed_to: isMailed ? link.email : null };
}

interface Content {
  readonly kind: NewLink['kind'];
  readonly email: string;
  readonly url: string;
  readonly expiresAt: Date;
  /** Of the organisation. */
  readonly name: string | null;
}

function messageOf({ kind, email: to, url, expiresAt, name }: Content): Message {
  const end = `It works once, until ${expiresAt.toISOString().slice(0, 16).replace('T', ' ')} UTC.`;
  if (kind === 'reset') {
    return {
      to,
      subject: 'A new password for Portcullis',
      text: `Somebody who runs Portcullis made this link for you to choose a new password:\n\n${url}\n\n${end}\n`,
    };
  }
  const where = name === null ? 'Portcullis' : `${name} on Portcullis`;
  return {
    to,
    subject: `Invitation to ${where}`,
    text: `You are invited to ${where}:\n\n${url}\n\n${end}\nIf you expect no invitation, ignore this message.\n`,
  };
}
