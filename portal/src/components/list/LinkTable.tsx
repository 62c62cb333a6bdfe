import { Button } from '@mantine/core';
import { isLoopbackHost } from '@portcullis/core/net/public-address.ts';
import type { NewLink } from '@portcullis/client/index.ts';
import { formatMoment } from '../../format.ts';
import { messages } from '../../messages/index.ts';
import { ListPanel } from './ListPanel.tsx';
import { SecretOnce } from '../SecretOnce.tsx';
import { timeColumn } from '../Time.tsx';
import { showToast } from '../forms/toasts.tsx';
import { useWrite } from '../forms/use-write.ts';

const text = messages.members;

export interface UnusedLink {
  readonly id: number;
  readonly email: string;
  /** The right that accepting the link gives: a role, or a new password. */
  readonly gives: string;
  readonly createdBy: string;
  readonly expiresAt: string;
  readonly mayWithdraw: boolean;
}

interface Props {
  readonly title: string;
  readonly lead: string;
  /** Not empty. */
  readonly links: readonly UnusedLink[];
  withdraw(id: number): Promise<unknown>;
}

/** Unused links, with a button to withdraw each. */
export function LinkTable({ title, lead, links, withdraw }: Props) {
  const withdrawal = useWrite(withdraw, {
    onDone: () => void showToast({ message: text.withdrawn }),
  });
  return (
    <ListPanel<UnusedLink>
      title={title}
      isHeaded
      lead={lead}
      rows={links}
      error={withdrawal.error}
      scrollLabel={title}
      keyOf={({ id }) => id}
      columns={[
        { title: text.email, className: 'strong', cell: ({ email }) => email },
        { title: text.columns.gives, cell: ({ gives }) => gives },
        { title: text.columns.invitedBy, className: 'dim', cell: (link) => link.createdBy },
        timeColumn(text.columns.ends, ({ expiresAt }) => expiresAt),
        {
          title: text.columns.actions,
          isTitleHidden: true,
          isNumber: true,
          cell: ({ id, email, mayWithdraw }) =>
            mayWithdraw && (
              <Button
                variant="default"
                size="compact-sm"
                aria-label={text.withdrawOf(email)}
                loading={withdrawal.isPending && withdrawal.variables === id}
                onClick={() => withdrawal.mutate(id)}
              >
                {text.withdraw}
              </Button>
            ),
        },
      ]}
    />
  );
}

export type MadeLink = NewLink['data'] & { readonly email: string };

interface OnceProps {
  readonly link: MadeLink;
  /** Says what to do with the link. */
  say(email: string, until: string): string;
  onClose(): void;
}

/** A new link, which is shown this once. */
export function LinkOnce({ link: { email, url, ...link }, say, onClose }: OnceProps) {
  const isHere = isLoopbackHost(new URL(url).hostname);
  return (
    <SecretOnce title={text.linkTitle(email)} secret={url} onClose={onClose}>
      {say(email, formatMoment(new Date(link.expires_at)))}{' '}
      {link.mailed_to !== null && text.mailed(link.mailed_to)} {isHere && text.linkIsHere}
    </SecretOnce>
  );
}
