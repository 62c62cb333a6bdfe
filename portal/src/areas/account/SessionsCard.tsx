import { Button } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { Loaded } from '../../components/Loaded.tsx';
import { Pill } from '../../components/Pill.tsx';
import { ProblemNotice } from '../../components/ProblemNotice.tsx';
import { Time } from '../../components/Time.tsx';
import { messages } from '../../messages/index.ts';
import { personClient } from '../../session/session.ts';
import { describeAgent } from './describe-agent.ts';
import { useAccountSessions, useRefreshAccount } from './queries.ts';

const text = messages.account.sessions;

/** Where the person is signed in. */
export function SessionsCard() {
  const sessions = useAccountSessions();
  const refresh = useRefreshAccount();
  const end = useMutation({
    mutationFn: (session: number) => personClient.endSession({ session }),
    onSettled: refresh,
  });
  return (
    <section className="card" aria-label={text.title}>
      <div className="card-pad">
        <h2>{text.title}</h2>
        <p className="dim flat">{text.lead}</p>
        <ProblemNotice error={end.error} />
      </div>
      <Loaded query={sessions} rows={2}>
        {(list) => (
          <div className="scroll-x">
            <table className="plain-table">
              <thead>
                <tr>
                  <th scope="col">{text.browser}</th>
                  <th scope="col">{text.source}</th>
                  <th scope="col">{text.began}</th>
                  <th scope="col">{text.seen}</th>
                  <th scope="col">
                    <span className="hidden">{text.actions}</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {list.map((session) => {
                  const { browser, system } = describeAgent(session.user_agent);
                  return (
                    <tr key={session.id}>
                      <td className="strong" title={session.user_agent ?? undefined}>
                        {text.agent(browser, system)}
                      </td>
                      <td className="mono">{session.source ?? text.unknown}</td>
                      <td className="dim nowrap">
                        <Time at={session.created_at} />
                      </td>
                      <td className="dim nowrap">
                        <Time at={session.last_seen_at} />
                      </td>
                      <td className="num">
                        {session.current ? (
                          <Pill tone="ok">{text.current}</Pill>
                        ) : (
                          <Button
                            variant="default"
                            size="compact-sm"
                            loading={end.isPending && end.variables === session.id}
                            onClick={() => end.mutate(session.id)}
                          >
                            {text.end}
                          </Button>
                        )}
                      </td>
                    </tr>
                  );
                })}
              </tbody>
            </table>
          </div>
        )}
      </Loaded>
    </section>
  );
}
