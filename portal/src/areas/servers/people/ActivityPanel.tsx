import { useInfiniteQuery } from '@tanstack/react-query';
import type { ServerActivity } from '@portcullis/client/index.ts';
import { wordsOfActivity } from '@portcullis/core/game-servers/activity-words.ts';
import { Lock, ScrollText } from 'lucide-react';
import { EmptyState } from '../../../components/EmptyState.tsx';
import { ListPanel } from '../../../components/list/ListPanel.tsx';
import { timeColumn } from '../../../components/Time.tsx';
import { serverPeopleMessages } from '../../../messages/servers/people.ts';
import { useSession } from '../../../session/session.ts';
import { rightRefusal } from '../server-right.ts';

const text = serverPeopleMessages.activity;
const { columns } = text;
type Entry = ServerActivity['data'][number];

interface Props {
  readonly uuid: string;
  /** The caller's own rights to the server. */
  readonly rights: readonly string[];
}

/** Who did what with this server, newest first. */
export default function ActivityPanel({ uuid, rights }: Props) {
  const refusal = rightRefusal(rights, 'activity.read');
  if (refusal === null) return <Shown uuid={uuid} />;
  return <EmptyState inCard icon={Lock} {...text.refused} text={refusal} />;
}

function Shown({ uuid }: Pick<Props, 'uuid'>) {
  const { client } = useSession();
  const activity = useInfiniteQuery({
    queryKey: ['server', uuid, 'activity'],
    initialPageParam: null as number | null,
    queryFn: ({ pageParam, signal }) =>
      client.listServerActivity(
        { slice: uuid, query: pageParam === null ? {} : { before: pageParam } },
        { signal },
      ),
    getNextPageParam: ({ meta }) => meta.next,
  });
  return (
    <ListPanel<Entry>
      title={text.title}
      lead={text.lead}
      query={activity}
      rows={activity.data?.pages.flatMap(({ data }) => data)}
      empty={{ icon: ScrollText, ...text.empty }}
      keyOf={({ id }) => id}
      columns={[
        timeColumn(columns.at, ({ at }) => at),
        { title: columns.actor, className: 'strong', cell: ({ actor }) => actor },
        { title: columns.action, cell: (entry) => <Action {...entry} /> },
        { title: columns.door, cell: ({ door }) => text.doors[door] ?? door },
        { title: columns.source, className: 'mono dim', cell: ({ source }) => source },
      ]}
      older={text.older}
    />
  );
}

/** The action with what is known of it: `Command: say hi`. */
function Action({ action, detail, times }: Pick<Entry, 'action' | 'detail' | 'times'>) {
  const known = wordsOfActivity(detail);
  return (
    <>
      {text.actions[action] ?? action}
      {known.length > 0 && <span className="mono"> {known.join(' ')}</span>}
      {times > 1 && <span className="dim"> {text.times(times)}</span>}
    </>
  );
}
