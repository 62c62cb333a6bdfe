import { Button } from '@mantine/core';
import { messages } from '../messages/index.ts';
import { ProblemNotice } from './ProblemNotice.tsx';
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
  readonly links: readonly UnusedLink[];
  withdraw(id: number): Promise<unknown>;
}

/** Unused links, with a button to withdraw each. */
export function LinkTable({ title, lead, links, withdraw }: Props) {
  const withdrawal = useWrite(withdraw);
  return (
    <section className="card" aria-label={title}>
      <div className="card-pad">
        <h2>{title}</h2>
        <p className="dim flat">{lead}</p>
        <ProblemNotice error={withdrawal.error} />
      </div>
      <div className="scroll-x" tabIndex={0} role="region" aria-label={title}>
        <table className="plain-table">
          <thead>
            <tr>
              <th scope="col">{text.email}</th>
              <th scope="col">{text.columns.gives}</th>
              <th scope="col">{text.columns.invitedBy}</th>
              <th scope="col">{text.columns.ends}</th>
              <th scope="col">
                <span className="hidden">{text.columns.actions}</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {links.map(({ id, email, gives, createdBy, expiresAt, mayWithdraw }) => (
              <tr key={id}>
                <td className="strong">{email}</td>
                <td>{gives}</td>
                <td className="dim">{createdBy}</td>
                <td className="dim nowrap">
                  <Time at={expiresAt} />
                </td>
                <td className="num">
                  {mayWithdraw && (
                    <Button
                      variant="default"
                      size="compact-sm"
                      aria-label={text.withdrawOf(email)}
                      loading={withdrawal.isPending && withdrawal.variables === id}
                      onClick={() => withdrawal.mutate(id)}
                    >
                      {text.withdraw}
                    </Button>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
