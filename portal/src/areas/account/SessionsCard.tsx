import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { Sessions } from '@portcullis/client/index.ts';
import { ListPanel } from '../../components/list/ListPanel.tsx';
import { Pill } from '../../components/Pill.tsx';
import { timeColumn } from '../../components/Time.tsx';
import { useWrite } from '../../components/forms/use-write.ts';
import { messages } from '../../messages/index.ts';
import { personClient } from '../../session/session.ts';
import { describeAgent } from './describe-agent.ts';

const text = messages.account.sessions;

/** Where the person is signed in. */
export function SessionsCard() {
  const sessions = useQuery({
    queryKey: ['account', 'sessions'],
    queryFn: async ({ signal }) => (await personClient.listSessions({}, { signal })).data,
  });
  const end = useWrite((session: number) => personClient.endSession({ session }));
  return (
    <ListPanel<Sessions['data'][number]>
      title={text.title}
      isHeaded
      lead={text.lead}
      query={sessions}
      rows={sessions.data}
      waitingRows={2}
      error={end.error}
      keyOf={({ id }) => id}
      columns={[
        {
          title: text.browser,
          className: 'strong',
          cell: ({ user_agent: agent }) => <span title={agent ?? undefined}>{nameOf(agent)}</span>,
        },
        { title: text.source, className: 'mono', cell: ({ source }) => source ?? text.unknown },
        timeColumn(text.began, ({ created_at: at }) => at),
        timeColumn(text.seen, ({ last_seen_at: at }) => at),
        {
          title: text.actions,
          isTitleHidden: true,
          isNumber: true,
          cell: ({ id, current }) =>
            current ? (
              <Pill tone="ok">{text.current}</Pill>
            ) : (
              <Button
                variant="default"
                size="compact-sm"
                loading={end.isPending && end.variables === id}
                onClick={() => end.mutate(id)}
              >
                {text.end}
              </Button>
            ),
        },
      ]}
    />
  );
}

function nameOf(agent: string | null): string {
  const { browser, system } = describeAgent(agent);
  return text.agent(browser, system);
}
