import { Button } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { ProblemNotice } from '../../../components/ProblemNotice.tsx';
import { Time } from '../../../components/Time.tsx';
import { messages } from '../../../messages/index.ts';
import { personClient } from '../../../session/session.ts';
import { useLinks, useRefreshOperator } from '../queries.ts';

const text = messages.operator.people.links;

/** Links that nobody used yet, of all organisations. Nothing shows when there is none. */
export function OpenLinks() {
  const links = useLinks().data ?? [];
  const refresh = useRefreshOperator();
  const withdraw = useMutation({
    mutationFn: (link: number) => personClient.withdrawLink({ link }),
    onSettled: refresh,
  });
  if (links.length === 0) return null;
  return (
    <section className="card" aria-label={text.title}>
      <div className="card-pad">
        <h2>{text.title}</h2>
        <p className="dim flat">{text.lead}</p>
        <ProblemNotice error={withdraw.error} />
      </div>
      <div className="scroll-x" tabIndex={0} role="region" aria-label={text.title}>
        <table className="plain-table">
          <thead>
            <tr>
              <th scope="col">{text.columns.email}</th>
              <th scope="col">{text.columns.what}</th>
              <th scope="col">{text.columns.by}</th>
              <th scope="col">{text.columns.ends}</th>
              <th scope="col">
                <span className="hidden">{text.columns.actions}</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {links.map(({ id, kind, email, organisation, role, created_by: by, expires_at }) => (
              <tr key={id}>
                <td className="strong">{email ?? text.anybody}</td>
                <td>{text.what(kind, organisation, role)}</td>
                <td className="dim">{by}</td>
                <td className="dim nowrap">
                  <Time at={expires_at} />
                </td>
                <td className="num">
                  <Button
                    variant="default"
                    size="compact-sm"
                    aria-label={text.withdrawOf(email ?? text.anybody)}
                    loading={withdraw.isPending && withdraw.variables === id}
                    onClick={() => withdraw.mutate(id)}
                  >
                    {messages.members.withdraw}
                  </Button>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
