import { Button } from '@mantine/core';
import { messages } from '../messages/index.ts';
import { ListPanel } from './ListPanel.tsx';
import { Time } from './Time.tsx';
import { useWrite } from './use-write.ts';

const text = messages.members;

export interface UnusedLink {
  readonly id: number;
  readonly email: string;
  /** What accepting the link gives: a role, or a new password. */
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
  const withdrawal = useWrite(withdraw);
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
        {
          title: text.columns.ends,
          className: 'dim nowrap',
          cell: ({ expiresAt }) => <Time at={expiresAt} />,
        },
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
