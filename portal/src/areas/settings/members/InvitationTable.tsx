import { Button } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import type { Members } from '@portcullis/client/index.ts';
import { ProblemNotice } from '../../../components/ProblemNotice.tsx';
import { Time } from '../../../components/Time.tsx';
import { messages } from '../../../messages/index.ts';
import { useRole } from '../../../session/rights.ts';
import { usePeopleClient } from '../../../session/session.ts';
import { mayDecide } from './member-roles.ts';

const text = messages.members;

interface Props {
  readonly invitations: Members['data']['invitations'];
  onChanged(): void;
}

/** Invitations that nobody accepted yet. */
export function InvitationTable({ invitations, onChanged }: Props) {
  const client = usePeopleClient();
  const own = useRole();
  const withdraw = useMutation({
    mutationFn: (invitation: number) => client.withdrawInvitation({ invitation }),
    onSettled: onChanged,
  });
  return (
    <section className="card" aria-label={text.invitations}>
      <div className="card-pad">
        <h2>{text.invitations}</h2>
        <p className="dim flat">{text.invitationsLead}</p>
        <ProblemNotice error={withdraw.error} />
      </div>
      <div className="scroll-x">
        <table className="plain-table">
          <thead>
            <tr>
              <th scope="col">{text.email}</th>
              <th scope="col">{text.columns.role}</th>
              <th scope="col">{text.columns.invitedBy}</th>
              <th scope="col">{text.columns.ends}</th>
              <th scope="col">
                <span className="hidden">{text.columns.actions}</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {invitations.map((each) => (
              <tr key={each.id}>
                <td className="strong">{each.email}</td>
                <td>{text.roleName(each.role)}</td>
                <td className="dim">{each.created_by}</td>
                <td className="dim nowrap">
                  <Time at={each.expires_at} />
                </td>
                <td className="num">
                  {mayDecide(own, each.role) && (
                    <Button
                      variant="default"
                      size="compact-sm"
                      loading={withdraw.isPending && withdraw.variables === each.id}
                      onClick={() => withdraw.mutate(each.id)}
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
